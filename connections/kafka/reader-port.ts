// Reading topics without a group: whole, from now on, or a set of partitions that may change.
import type { RawRecord } from "./record-port.ts";

export interface TopicReader {
  /** Resolves when everything that was there at the start has been handed over. */
  caughtUp: Promise<void>;
  stop(): Promise<void>;
}

export interface FollowHandlers {
  /** Awaited, in a partition's order. `next`: behind the records. isStale: not followed now. */
  onRecords(
    records: RawRecord[],
    at: { partition: number; next: number; isStale: () => boolean },
  ): void | Promise<void>;
  /** The offset is gone and the partition is read anew: what it brought is void. */
  onRewound?(partition: number): void | Promise<void>;
}

/** Partitions of a topic, which come and go. Only caughtUp waits for the broker. */
export interface TopicFollower {
  /** From this offset on, whether it was followed before or not. */
  follow(partition: number, from: number): void;
  unfollow(partition: number): void;
  /** Offset behind what was handed over, control markers included; undefined: not followed. */
  position(partition: number): number | undefined;
  /** Resolves at the end that the partition had at this call, or when not followed. */
  caughtUp(partition: number): Promise<void>;
  stop(): Promise<void>;
}

/** A partition of which an open transaction keeps what is behind it from readers. */
export interface StuckPartition {
  topic: string;
  partition: number;
  /** The last stable offset, and the end of the partition. */
  stable: number;
  high: number;
  /** Since when it has stood there, as far as we have looked; milliseconds since the epoch. */
  since: number;
}

/** A batch that a reader has passed because it can't be read. */
export interface UnreadableBatch {
  topic: string;
  /** Stable: unknown_codec, broken_checksum, ... */
  code: string;
}

/** Held: full names of the topics that its user may read whole. */
export interface KafkaReaders<Held extends string = string> {
  /** Reads whole topics without a group and follows them, in each partition's order. */
  readTopic: (topic: Held, onRecords: (records: RawRecord[], partition: number) => void | Promise<void>) => TopicReader;
  /** Follows a set of a topic's partitions that may change; none at first. */
  followTopic: (topic: Held, handlers: FollowHandlers) => TopicFollower;
  /** Follows a topic from now on; resolves once every later record will be seen. */
  tailTopic: (
    topic: Held,
    onRecord: (record: RawRecord, partition: number) => void,
  ) => Promise<{ stop(): Promise<void> }>;
  /** What the tables and tails of this client wait for behind an open transaction. */
  stuck(): StuckPartition[];
}
