// Reading topics without a group: whole, from now on, or a set of partitions that may change.
import type { RawRecord } from "./record-port.ts";

export interface TopicReader {
  /** Resolves when everything that was there at the start has been handed over. */
  caughtUp: Promise<void>;
  stop(): Promise<void>;
}

export interface FollowHandlers {
  /**
   * Awaited, in the order of a partition. `next`: the offset behind the records. isStale: the
   * partition is no longer followed from there.
   */
  onRecords(
    records: RawRecord[],
    at: { partition: number; next: number; isStale: () => boolean },
  ): void | Promise<void>;
  /**
   * The broker did not know the offset any more and the partition is read from its beginning: what
   * it brought is void.
   */
  onRewound?(partition: number): void | Promise<void>;
}

/**
 * Some partitions of a topic; those come and go. Nothing here waits for the broker but caughtUp.
 */
export interface TopicFollower {
  /** From this offset on, whether it was followed before or not. */
  follow(partition: number, from: number): void;
  unfollow(partition: number): void;
  /** Offset behind what was handed over, control markers included; undefined: not followed. */
  position(partition: number): number | undefined;
  /**
   * Resolves when the partition was read to the end that it had at this call, or is not followed
   * any more.
   */
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
  /**
   * Reads whole topics without a group of their own and follows them; onRecords is awaited, records
   * keep their partition's order.
   */
  readTopic: (topic: Held, onRecords: (records: RawRecord[], partition: number) => void | Promise<void>) => TopicReader;
  /** Follows a set of a topic's partitions that may change; none at first. */
  followTopic: (topic: Held, handlers: FollowHandlers) => TopicFollower;
  /**
   * Follows a topic from now on; resolves once every record produced from this moment on will be
   * seen.
   */
  tailTopic: (
    topic: Held,
    onRecord: (record: RawRecord, partition: number) => void,
  ) => Promise<{ stop(): Promise<void> }>;
  /** What the tables and tails of this client wait for behind an open transaction. */
  stuck(): StuckPartition[];
}
