// The topic `policies` in memory, for tests: one transactional id, so only the producer that was
// initialised last may publish, as with a broker.
import { pino } from "pino";
import type { Kafka, OutgoingMessage, RawRecord } from "../../connections/kafka/port.ts";
import type { Codec } from "../../connections/registry/port.ts";
import type { Policy } from "../../schemas/types.ts";
import { createPolicyLogs, type PolicyLogs } from "./log.ts";

export interface PolicyTopic {
  /** A writer of the names; `recorded`: the highest version in ClickHouse. */
  writer(names: readonly string[], recorded?: number): PolicyLogs;
  /** Everything that was published, in order. */
  records(): Policy[];
}

export function createPolicyTopic(): PolicyTopic {
  const published: RawRecord[] = [];
  const readers = new Set<(records: RawRecord[], partition: number) => void | Promise<void>>();
  let writers = 0;
  const codec = {
    encode: (_topic: unknown, record: unknown) => Buffer.from(JSON.stringify(record)),
    decode: (_topic: unknown, bytes: Buffer) =>
      Promise.resolve({ ok: true, value: JSON.parse(bytes.toString()) as Policy }),
    register: () => Promise.resolve(),
  } as unknown as Codec;
  const kafka = {
    readTopic(_topic: string, onRecords: (records: RawRecord[], partition: number) => void | Promise<void>) {
      readers.add(onRecords);
      return {
        caughtUp: Promise.resolve(onRecords([...published], 0)),
        stop: () => Promise.resolve(void readers.delete(onRecords)),
      };
    },
  } as unknown as Kafka;
  return {
    writer(names, recorded = 0) {
      let epoch = -1;
      return createPolicyLogs({
        producer: {
          initialise: () => Promise.resolve(void (epoch = ++writers)),
          async publish(messages: readonly OutgoingMessage[]) {
            if (epoch !== writers) throw new Error("fenced");
            for (const { key, value } of messages) {
              const record = { offset: published.length, key: Buffer.from(String(key)), headers: {}, timestamp: 0 };
              published.push({ ...record, value });
              for (const reader of readers) await reader([{ ...record, value }], 0);
            }
          },
        },
        kafka,
        codec,
        topic: "policies",
        names,
        highestRecorded: () => Promise.resolve(recorded),
        log: pino({ level: "silent" }),
      });
    },
    records: () => published.map(({ value }) => JSON.parse(String(value)) as Policy),
  };
}
