// The two loads on a stage. A backlog: written in one transaction, so that the stage sees all of it
// at once and producing it costs nothing while it is measured. A pace: so many records a second,
// whatever comes back.
import { setTimeout as sleep } from "node:timers/promises";
import type { createKafkaClient } from "../../connections/kafka/client.ts";
import type { Kafka } from "../../connections/kafka/port.ts";
import type { System } from "./systems.ts";

export interface Source {
  kafka: Kafka;
  client: ReturnType<typeof createKafkaClient>;
  partitions: number;
  signal: AbortSignal;
}

const value = Buffer.alloc(1_000, "x");
/** As many as a busy producer puts into a batch. */
const chunk = { records: 512 };
const withinMs = 120_000;

const message = (id: number, partitions: number) => ({ key: String(id), value, partition: id % partitions });

/** Milliseconds from the commit that shows the backlog to the stage's last own commit. */
export async function runBacklog(
  { kafka, client, partitions, signal }: Source,
  { group, input, child }: System,
  { from, records }: { from: number; records: number },
  onVisible: () => void,
): Promise<{ seconds: number }> {
  const producer = client.producer({
    transactionalId: `${group}.backlog`,
    ...{ idempotent: true, maxInFlightRequests: 1, transactionTimeout: 120_000 },
  });
  await producer.connect();
  try {
    const transaction = await producer.transaction();
    for (let id = from; id < from + records; id += chunk.records) {
      signal.throwIfAborted();
      const count = Math.min(chunk.records, from + records - id);
      const messages = Array.from({ length: count }, (_, index) => message(id + index, partitions));
      await transaction.send({ topic: input, messages });
    }
    // Without the marker that the commit adds to each.
    const ends = await kafka.ends(input);
    onVisible();
    const began = performance.now();
    await transaction.commit();
    const wanted = new Map(ends.map(({ partition, high }) => [partition, high]));
    for (;;) {
      const committed = await kafka.lag(group, input);
      if (committed.every((p) => (p.committed ?? 0) >= (wanted.get(p.partition) ?? 0))) break;
      child.check();
      signal.throwIfAborted();
      if (performance.now() - began > withinMs)
        throw new Error(`${group} has not finished ${records} records after ${withinMs / 1000} s`);
      await sleep(20, undefined, { signal });
    }
    return { seconds: (performance.now() - began) / 1000 };
  } finally {
    await producer.disconnect();
  }
}

export interface Paced {
  /** Milliseconds from when a record was due to when its output was read, by record. */
  latencies: number[];
}

const tickMs = 5;
const lateMs = 10_000;

/** A record is due at its time, whether we come to send it then or not. */
export async function runPace(
  { kafka, partitions, signal }: Source,
  { input, output, child }: System,
  { from, rate, seconds }: { from: number; rate: number; seconds: number },
): Promise<Paced> {
  const records = Math.round(rate * seconds);
  const latencies = new Array<number>(records).fill(Number.NaN);
  let seen = 0;
  let finished: () => void = () => undefined;
  const all = new Promise<void>((resolve) => (finished = resolve));
  let began = 0;
  const due = (index: number): number => began + (1000 * index) / rate;
  const tail = await kafka.tailTopic(output, ({ key }) => {
    const index = Number(key?.toString()) - from;
    if (!(index >= 0 && index < records) || !Number.isNaN(latencies[index])) return;
    latencies[index] = performance.now() - due(index);
    if (++seen === records) finished();
  });
  const producer = kafka.plainProducer();
  try {
    const sends: Promise<void>[] = [];
    // The first one finds the brokers; the clock starts behind it.
    began = performance.now();
    await producer.send([{ topic: input, ...message(from, partitions) }]);
    began = performance.now();
    for (let sent = 1; sent < records; await sleep(tickMs, undefined, { signal })) {
      const until = Math.min(records, Math.floor(((performance.now() - began) * rate) / 1000));
      const messages = [];
      for (; sent < until; sent++) messages.push({ topic: input, ...message(from + sent, partitions) });
      if (messages.length > 0) sends.push(producer.send(messages));
    }
    await Promise.all(sends);
    const waiting = new AbortController();
    await Promise.race([all, sleep(lateMs, undefined, { signal: AbortSignal.any([signal, waiting.signal]) })]);
    waiting.abort();
    child.check();
    if (seen < records) throw new Error(`${records - seen} of ${records} records did not come out of ${input}`);
    return { latencies };
  } finally {
    await Promise.all([tail.stop(), producer.close()]);
  }
}
