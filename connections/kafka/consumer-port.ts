// Consuming in a group: records of a member's partitions, and where the group is.
import type { Origin } from "../../algorithms/identity/origin.ts";
import type { RawRecord, TopicPartition } from "./record-port.ts";

/** Identity under which a consumer commits. */
export interface GroupMember {
  id: string;
  generation: number;
}

export interface CommittedOffset extends TopicPartition {
  /** Where to go on; undefined when the group has committed nothing yet. */
  offset: number | undefined;
  metadata: string;
  /** First offset that the broker still has. */
  beginning: number;
  /** Behind the last record that the broker has, those of open transactions included. */
  end: number;
  /** What it was committed of, and what has the topic's name now. */
  origin: Origin;
  current: Origin;
}

export interface Positions {
  known: CommittedOffset[];
  waiting: (TopicPartition & { why: "an open transaction is about to move it" | "the broker does not know it" })[];
}

/** What a batch covers, records or not: everything in [from, next). */
export interface BatchSpan {
  /** The offset that was asked for. */
  from: number;
  /** Position after the batch, control markers included. */
  next: number;
}

export interface GroupHandlers {
  /** Called synchronously on every join, before any record; all partitions are paused. */
  onJoin(member: GroupMember, partitions: TopicPartition[]): void;
  /** Delivered records in order; awaited. isStale: the partition was lost or sought meanwhile. */
  onBatch(
    topic: string,
    partition: number,
    records: RawRecord[],
    span: BatchSpan,
    isStale: () => boolean,
  ): void | Promise<void>;
  /** Offsets [first, next) of a partition are control markers or aborted: never delivered. */
  onMarkers?(topic: string, partition: number, first: number, next: number): void;
  /** The broker lacks the offset asked for: the partition is paused until the next seek. */
  onOutOfRange?(topic: string, partition: number): void;
  /** The offset behind the partition's last record, after every batch. */
  onHighWatermark?(topic: string, partition: number, offset: number): void;
}

/** Whether records are fetched as they come, which is the default, or gathered first. */
export interface FetchWait {
  /** Above 1, a fetch that brought less is followed by the next one after maxWaitMs. */
  minBytes: number;
  /** How long the broker waits for records; stopping and resuming take as long. */
  maxWaitMs: number;
}

/** Where a group is, and who its members are. */
export interface GroupPositions {
  /** Committed offsets without open transactions; rejects while one is open, or no broker. */
  committed(partitions: readonly TopicPartition[]): Promise<CommittedOffset[]>;
  /** As committed, but partition by partition: the offsets known, and those that are not. */
  committedNow(partitions: readonly TopicPartition[]): Promise<Positions>;
  /** Plain commits, outside transactions. */
  commit(positions: readonly (TopicPartition & { offset: number })[]): Promise<void>;
  /** What has the topics' names now. Rejects while the broker is away. */
  origins(topics: readonly string[]): Promise<ReadonlyMap<string, Origin>>;
  /** Other members under the same instance id, a line each; undefined: being reassigned. */
  rivals(): Promise<readonly string[] | undefined>;
}

/** One member of a group; GroupPositions says where it is. */
export interface GroupConsumer extends GroupPositions {
  /** Resolves at the first join; rejoins by itself after every error. */
  run(handlers: GroupHandlers): Promise<void>;
  /** pause and resume do nothing before a join, which begins with all partitions paused. */
  pause(partitions: readonly TopicPartition[]): void;
  resume(partitions: readonly TopicPartition[]): void;
  seek(partition: TopicPartition, offset: number): void;
  /** Leaves the group, within a few seconds even without a broker. run() ends as well. */
  stop(): Promise<void>;
}

/** A partition that a sink is to go on with, and what has the topic's name now. */
export interface SinkPartition extends TopicPartition {
  origin?: Origin;
}

/** The input of a sink that keeps its positions where its rows are. */
export interface SinkPosition extends TopicPartition {
  /** undefined: the earliest that the broker has. */
  offset: number | undefined;
  /** What the sink has stored belongs to another topic or cluster. */
  anotherTopic?: boolean;
}

export interface SinkHandlers {
  /** Asked on every join, for all partitions held; rejects to be asked again. */
  onAssigned(partitions: readonly SinkPartition[]): Promise<readonly SinkPosition[]>;
  /** Awaited: backpressure. Must return soon once isStale(): another member may own it. */
  onRecords(topic: string, partition: number, records: readonly RawRecord[], isStale: () => boolean): Promise<void>;
  onHighWatermark?(topic: string, partition: number, offset: number): void;
}

export interface SinkSource {
  run(handlers: SinkHandlers): Promise<void>;
  commit(positions: readonly (TopicPartition & { offset: number })[]): Promise<void>;
  stop(): Promise<void>;
}

/** How far a partition is; undefined of one that is assigned and not adopted yet. */
export interface PartitionProgress {
  /** The committed position, and how many records beyond it are finished and committed. */
  committed: number;
  finished: number;
  /** Offset behind the last record that was fetched. */
  next: number;
  /** Records that are finished and not committed, under way, and not begun. */
  uncommitted: number;
  running: number;
  unstarted: number;
}

/** Consumed: full names of the topics that its user may consume in a group. */
export interface KafkaConsumers<Consumed extends string = string> {
  groupConsumer: (options: {
    group: string;
    topics: readonly Consumed[];
    instance: string;
    sessionTimeoutMs: number;
    fetch?: FetchWait;
  }) => GroupConsumer;
}
