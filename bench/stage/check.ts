// What came out of a stage: every record that went in, once, for read-committed readers.
import type { Kafka } from "../../connections/kafka/port.ts";

export interface Outcome {
  lost: number;
  doubled: number;
}

export async function checkOutput(kafka: Kafka, topic: string, records: number): Promise<Outcome> {
  const times = new Uint8Array(records);
  let strange = 0;
  const reader = kafka.readTopic(topic, (read) => {
    for (const { key, value } of read) {
      const id = Number(key?.toString());
      if (!(id >= 0 && id < records) || value?.length !== 1_000) strange++;
      else times[id]!++;
    }
  });
  try {
    await reader.caughtUp;
  } finally {
    await reader.stop();
  }
  if (strange > 0) throw new Error(`${topic}: ${strange} records that were never sent`);
  return outcomeOf(times);
}

/** Outcome by how often each record came. */
export function outcomeOf(times: Iterable<number>): Outcome {
  const outcome: Outcome = { lost: 0, doubled: 0 };
  for (const count of times) {
    if (count === 0) outcome.lost++;
    if (count > 1) outcome.doubled += count - 1;
  }
  return outcome;
}
