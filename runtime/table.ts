// A compacted topic, or some of its partitions, as a table in memory. Delivery: each change at
// least once, in partition order; appliers are idempotent by key.
import type { Logger } from "pino";
import type { FollowHandlers, Kafka, RawRecord, TopicFollower, TopicReader } from "../connections/kafka/port.ts";
import type { Codec } from "../connections/registry/port.ts";
import type { RecordOf, TopicName } from "../schemas/records.ts";
import { decodeWithRetries } from "./decode.ts";

interface RowOptions<N extends TopicName, T extends string> {
  codec: Codec;
  topic: T;
  record: N;
  log: Logger;
}

export interface TableOptions<N extends TopicName, T extends string> extends RowOptions<N, T> {
  kafka: Pick<Kafka<never, T, never>, "readTopic">;
  /** New and changed rows and the keys that are gone, in the order of the partition. */
  apply(changes: readonly TableChange<RecordOf[N]>[]): void | Promise<void>;
}

export interface PartitionsOptions<N extends TopicName, T extends string> extends RowOptions<N, T> {
  kafka: Pick<Kafka<never, T, never>, "followTopic">;
  /** As for a whole table; `next` is the offset behind the changes. */
  apply(changes: readonly TableChange<RecordOf[N]>[], at: { partition: number; next: number }): void | Promise<void>;
  onRewound: NonNullable<FollowHandlers["onRewound"]>;
}

export interface TableChange<T> {
  key: string;
  /** null: a tombstone. */
  value: T | null;
}

export function followTable<N extends TopicName, T extends string>(options: TableOptions<N, T>): TopicReader {
  const { kafka, apply, ...rows } = options;
  const decode = createDecoder(rows);
  return kafka.readTopic(rows.topic, async (records, partition) => {
    await apply(await decode(records, partition));
  });
}

/** The whole topic as it is now, by key, and the reader is gone again. */
export async function readTable<N extends TopicName, T extends string>(
  options: Omit<TableOptions<N, T>, "apply">,
): Promise<Map<string, RecordOf[N]>> {
  const found = new Map<string, RecordOf[N]>();
  const apply = applyTo<RecordOf[N]>({
    apply: (key, value) => void found.set(key, value),
    remove: (key) => void found.delete(key),
  });
  const reader = followTable({ ...options, apply });
  await reader.caughtUp.finally(() => reader.stop());
  return found;
}

/** Applies changes one by one. */
export const applyTo =
  <T>(table: { apply(key: string, value: T): void; remove(key: string): void }) =>
  (changes: readonly TableChange<T>[]): void => {
    for (const { key, value } of changes)
      if (value === null) table.remove(key);
      else table.apply(key, value);
  };

/** No partition at first: the follower says which. */
export function followPartitions<N extends TopicName, T extends string>(
  options: PartitionsOptions<N, T>,
): TopicFollower {
  const { kafka, apply, onRewound, ...rows } = options;
  const decode = createDecoder(rows);
  return kafka.followTopic(rows.topic, {
    onRewound,
    async onRecords(records, { partition, next, isStale }) {
      const changes = await decode(records, partition);
      if (!isStale()) await apply(changes, { partition, next });
    },
  });
}

/** Undecodable rows are logged and left out; a registry that is away is waited for. */
function createDecoder<N extends TopicName>({ codec, topic, record, log }: RowOptions<N, string>) {
  const onWaiting = (cause: Error): void => log.warn({ err: cause, topic }, "the registry is away: the table waits");
  const decodeOne = async (raw: RawRecord, partition: number): Promise<TableChange<RecordOf[N]> | undefined> => {
    const key = raw.key?.toString() ?? "";
    if (raw.value === null) return { key, value: null };
    const decoded = await decodeWithRetries(codec, record, raw.value, { onWaiting });
    if (decoded.ok) return { key, value: decoded.value };
    log.error(
      { topic, partition, offset: raw.offset, key, code: decoded.code, reason: decoded.reason },
      "a row of a table is unreadable",
    );
    return undefined;
  };
  return async (records: RawRecord[], partition: number): Promise<TableChange<RecordOf[N]>[]> => {
    const changes = await Promise.all(records.map((raw) => decodeOne(raw, partition)));
    return changes.filter((change) => change !== undefined);
  };
}
