// A compacted topic as a table in memory: read whole at the start, followed ever after. Every process has its own.
// Delivery: each change is applied at least once and in the order of its partition; appliers are idempotent by key.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Kafka, RawRecord, TopicReader } from "../connections/kafka/port.ts";
import { RegistryUnavailable, type Codec } from "../connections/registry/port.ts";
import type { RecordOf, TopicName } from "../schemas/records.ts";

export interface TableOptions<N extends TopicName> {
  kafka: Kafka;
  codec: Codec;
  /** Full name. */
  topic: string;
  record: N;
  /** New and changed rows, then the keys that are gone, in the order of the partition. */
  apply(changes: readonly TableChange<RecordOf[N]>[]): void | Promise<void>;
  log: Logger;
}

export interface TableChange<T> {
  key: string;
  /** null: a tombstone. */
  value: T | null;
}

const retryMs = { first: 100, limit: 5_000 };

/** Undecodable rows are logged and left out; a registry that is away is waited for. */
export function followTable<N extends TopicName>({
  kafka,
  codec,
  topic,
  record,
  apply,
  log,
}: TableOptions<N>): TopicReader {
  const decode = async (raw: RawRecord, partition: number): Promise<TableChange<RecordOf[N]> | undefined> => {
    const key = raw.key?.toString() ?? "";
    if (raw.value === null) return { key, value: null };
    for (let wait = retryMs.first; ; wait = Math.min(2 * wait, retryMs.limit)) {
      try {
        const decoded = await codec.decode(record, raw.value);
        if (decoded.ok) return { key, value: decoded.value };
        log.error(
          { topic, partition, offset: raw.offset, key, code: decoded.code, reason: decoded.reason },
          "a row of a table is unreadable",
        );
        return undefined;
      } catch (error) {
        if (!(error instanceof RegistryUnavailable)) throw error;
        log.warn({ err: error, topic }, "the registry is away: the table waits");
        await sleep(wait);
      }
    }
  };
  return kafka.readTopic(topic, async (records, partition) => {
    const changes = await Promise.all(records.map((raw) => decode(raw, partition)));
    await apply(changes.filter((change) => change !== undefined));
  });
}
