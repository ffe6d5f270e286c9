// Kafka as the runtime needs it. kafkajs stands behind it today; nothing above this folder knows.
import type { Origin } from "../../algorithms/origin.ts";

/** Identity under which a consumer commits. */
export interface GroupMember {
  id: string;
  generation: number;
}
export interface OffsetToCommit {
  partition: number;
  offset: string;
  metadata: string | null;
}

export interface TopicPartition {
  topic: string;
  partition: number;
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

/** A record as it lies in the log. */
export interface RawRecord {
  offset: number;
  key: Buffer | null;
  value: Buffer | null;
  headers: Record<string, Buffer>;
  /** Milliseconds since the epoch. */
  timestamp: number;
  /** The broker stamped it when it came; else the producer did, by whatever clock it has. */
  appended?: boolean;
}

/** T: the topics it may be for. */
export interface OutgoingMessage<T extends string = string> {
  topic: T;
  key: string | Buffer | null;
  value: Buffer | null;
  partition?: number;
  headers?: Record<string, Buffer | string>;
  /** Milliseconds since the epoch; now by default. */
  timestamp?: number;
}

/** What a batch covers, records or not: everything in [from, next). */
export interface BatchSpan {
  /** The offset that was asked for. */
  from: number;
  /** Position after the batch, control markers included. */
  next: number;
}

export interface GroupHandlers {
  /** Called synchronously on every join, before anything of the new assignment is delivered. All partitions are paused. */
  onJoin(member: GroupMember, partitions: TopicPartition[]): void;
  /** Delivered records in order; awaited. isStale: the partition was lost or sought meanwhile. */
  onBatch(
    topic: string,
    partition: number,
    records: RawRecord[],
    span: BatchSpan,
    isStale: () => boolean,
  ): void | Promise<void>;
  /** Everything in [first, next) of a partition is control markers or aborted records: true whoever asks, and never delivered. */
  onMarkers?(topic: string, partition: number, first: number, next: number): void;
  /** The broker does not have the offset that was asked for. The partition is paused, and nothing is fetched of it before the next seek. */
  onOutOfRange?(topic: string, partition: number): void;
  /** Records that wait in the broker behind what was fetched, after every batch. */
  onLag?(topic: string, partition: number, records: number): void;
}

/** How long the broker gathers records before it answers. The default is for low latency: an answer at the first record. */
export interface FetchPatience {
  minBytes: number;
  /** It answers after this long in any case; a consumer that stops or is resumed waits as long. */
  maxWaitMs: number;
}

export interface GroupConsumer {
  /** Resolves when the group was joined for the first time; joins again by itself after every trouble. */
  run(handlers: GroupHandlers): Promise<void>;
  /** pause and resume do nothing while the group is not joined: every join begins with all partitions paused. */
  pause(partitions: readonly TopicPartition[]): void;
  resume(partitions: readonly TopicPartition[]): void;
  seek(partition: TopicPartition, offset: number): void;
  /** Committed offsets once no transaction of the group is open on them; rejects while one is, and while the broker is away. */
  committed(partitions: readonly TopicPartition[]): Promise<CommittedOffset[]>;
  /** The same partition by partition: what can be told now, and what can't. Rejects while the broker is away. */
  committedNow(partitions: readonly TopicPartition[]): Promise<Positions>;
  /** What has the topics' names now. Rejects while the broker is away. */
  origins(topics: readonly string[]): Promise<ReadonlyMap<string, Origin>>;
  /** Other living members of the group under the same instance id, one line each; undefined while the group is being reassigned. */
  rivals(): Promise<readonly string[] | undefined>;
  /** Plain commits, outside transactions. */
  commit(positions: readonly (TopicPartition & { offset: number })[]): Promise<void>;
  /** Leaves the group, or gives up after a few seconds while the broker is away. run() is at its end then, too. */
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
  /** Awaited: backpressure. Must return soon once isStale(): the partition may be somebody else's. */
  onRecords(topic: string, partition: number, records: readonly RawRecord[], isStale: () => boolean): Promise<void>;
  onLag?(topic: string, partition: number, records: number): void;
}

export interface SinkSource {
  run(handlers: SinkHandlers): Promise<void>;
  commit(positions: readonly (TopicPartition & { offset: number })[]): Promise<void>;
  stop(): Promise<void>;
}

export interface Transaction<T extends string = string> {
  group: string;
  member: GroupMember;
  /** None: only the transactional id fences, group and member are not looked at. */
  offsets: { topic: string; partitions: OffsetToCommit[] }[];
  messages: readonly OutgoingMessage<T>[];
}

/** Where a transactional producer may have written, in this life or a former one. */
export interface Reach {
  /** Consumer groups whose offsets it commits. */
  groups: readonly string[];
  /** Full names. */
  topics: readonly string[];
}

/** Where to look for transactions that hang: in the topics whosever they are, in the groups' offsets those of our producers. */
export interface HangingSearch extends Reach {
  /** What the transactional ids of our producers begin with: one partition holds the offsets of many groups. */
  idPrefix: string;
}

/** A transaction that is open in a partition and that its coordinator will not end: readers and positions wait for ever. */
export interface HangingTransaction {
  topic: string;
  partition: number;
  producerId: string;
  epoch: number;
  /** Offset of its first record there, and the time of its last, milliseconds since the epoch. */
  openSince: number;
  lastTimestamp: number;
  coordinatorEpoch: number;
  /** undefined: the id has expired, or we may not see it. */
  transactionalId: string | undefined;
  /** What the coordinator has on record of the id now, e.g. CompleteAbort. */
  state: string | undefined;
  /** How the transaction ended for its coordinator; undefined: that is not on record any more. */
  outcome: "commit" | "abort" | undefined;
  /** What ends it where a stage may not. */
  remedy: string;
}

export interface EndedTransaction {
  transaction: HangingTransaction;
  /** Why it still hangs; undefined: it was ended. */
  refused: string | undefined;
}

export interface TransactionalProducer<T extends string = string> {
  /**
   * Fences a predecessor with the same id and ends its open transaction, and whatever else of it is open within the reach; also the way back
   * after an unknown outcome.
   */
  initialise(): Promise<void>;
  /** Rejects with TransactionAborted or TransactionOutcomeUnknown (errors.ts). One at a time. */
  transact: (transaction: Transaction<T>) => Promise<void>;
  close(): Promise<void>;
}

export interface PlainProducer<T extends string = string> {
  /** Resolves when all in-sync replicas have the messages. */
  send: (messages: readonly OutgoingMessage<T>[]) => Promise<void>;
  close(): Promise<void>;
}

export interface TopicReader {
  /** Resolves when everything that was there at the start has been handed over. */
  caughtUp: Promise<void>;
  stop(): Promise<void>;
}

export interface FollowHandlers {
  /** Awaited; in the order of a partition. `next` is the offset behind them; isStale: nobody follows the partition from there any more. */
  onRecords(
    records: RawRecord[],
    at: { partition: number; next: number; isStale: () => boolean },
  ): void | Promise<void>;
  /** The broker did not know the offset any more and the partition is read from its beginning: what it brought is void. */
  onRewound?(partition: number): void | Promise<void>;
}

/** Some partitions of a topic; those come and go. Nothing here waits for the broker but caughtUp. */
export interface TopicFollower {
  /** From this offset on, whether it was followed before or not. */
  follow(partition: number, from: number): void;
  unfollow(partition: number): void;
  /** Offset behind what was handed over, control markers included; undefined: not followed. */
  position(partition: number): number | undefined;
  /** Resolves when the partition was read to the end that it had at this call, or is not followed any more. */
  caughtUp(partition: number): Promise<void>;
  stop(): Promise<void>;
}

export interface PartitionSpan {
  partition: number;
  /** First offset that the broker has, and the one behind its last, control markers included. */
  beginning: number;
  end: number;
}

/** How far a partition is; undefined of one that is assigned and not adopted yet. */
export interface PartitionProgress {
  /** The position as last committed, and how many records beyond it are finished and committed as well. */
  committed: number;
  finished: number;
  /** Offset behind the last record that was fetched. */
  next: number;
  /** Records that are finished and not committed, under way, and not begun. */
  uncommitted: number;
  running: number;
  unstarted: number;
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

/** How many copies of a record there are, and how many must have it before it is acknowledged. */
export interface Durability {
  replicationFactor: number;
  minInsyncReplicas: number;
}

/** What an existing topic has. */
export interface TopicSafety extends Durability {
  /** Whose clock dates its records: LogAppendTime is the broker's. */
  stampedBy: "broker" | "producer";
  /** Bytes after which a segment may be compacted or removed. */
  segmentBytes: number;
}

export interface PartitionEnds {
  partition: number;
  /** The last stable offset: from here on a transaction is open, and read-committed readers see nothing. */
  stable: number;
  /** Behind the last record that is replicated. */
  high: number;
}

/**
 * Consumed, Held, Sent: the topics that its user may consume in a group, read whole, and send to; any by default. A stage is handed one
 * for the topics that it declares. What takes them is declared as functions, not methods: TypeScript compares methods loosely, and a stage
 * could pass its Kafka on as one for any topic.
 */
export interface Kafka<Consumed extends string = string, Held extends string = string, Sent extends string = string> {
  groupConsumer: (options: {
    group: string;
    topics: readonly Consumed[];
    instance: string;
    sessionTimeoutMs: number;
    fetch?: FetchPatience;
  }) => GroupConsumer;
  /** Without a reach nothing is looked for that a predecessor's coordinator has forgotten. */
  transactionalProducer: (transactionalId: string, reach?: () => Reach) => TransactionalProducer<Sent>;
  plainProducer: () => PlainProducer<Sent>;
  /** Reads whole topics without a group of their own and follows them; onRecords is awaited, records keep their partition's order. */
  readTopic: (topic: Held, onRecords: (records: RawRecord[], partition: number) => void | Promise<void>) => TopicReader;
  /** Follows a set of a topic's partitions that may change; none at first. */
  followTopic: (topic: Held, handlers: FollowHandlers) => TopicFollower;
  /** Of every partition of a topic, by partition. Rejects while the broker is away. */
  spans(topic: string): Promise<PartitionSpan[]>;
  /** Where a producer puts a key that comes without a partition. */
  partitionOf(key: string, partitions: number): number;
  /** Offsets mean something in this cluster alone. Rejects while the broker is away. */
  clusterId(): Promise<string>;
  /** What has the topics' names now. Rejects while the broker is away. */
  origins(topics: readonly string[]): Promise<ReadonlyMap<string, Origin>>;
  /** Follows a topic from now on; resolves once every record produced from this moment on will be seen. */
  tailTopic: (
    topic: Held,
    onRecord: (record: RawRecord, partition: number) => void,
  ) => Promise<{ stop(): Promise<void> }>;
  ensureTopics(arms: readonly string[]): Promise<void>;
  /** Names of all topics that the broker shows us. */
  topics(): Promise<string[]>;
  /** Copies of existing topics, and those that would be made now. */
  durability(topics: readonly string[]): Promise<{ wanted: Durability; found: ReadonlyMap<string, TopicSafety> }>;
  /** End offset and, with a group, committed offset of every partition of a topic. */
  lag(
    group: string,
    topic: string,
  ): Promise<{ partition: number; end: number; committed: number | undefined; metadata: string; origin?: Origin }[]>;
  /** Rejects while a leader or a coordinator is away. */
  hangingTransactions(search: HangingSearch): Promise<HangingTransaction[]>;
  /** Ends those whose outcome is on record, with that outcome; the others are refused. Needs ClusterAction. */
  endTransactions(hanging: readonly HangingTransaction[]): Promise<EndedTransaction[]>;
  /** Names of all consumer groups that the broker shows us. */
  groups(): Promise<string[]>;
  /** Processes that are in a consumer group now; 0 for a group that there is not. Rejects while the broker is away. */
  members(group: string): Promise<number>;
  /** The ends of every partition of a topic. Rejects while a broker is away. */
  ends(topic: string): Promise<PartitionEnds[]>;
  /** What the tables and tails of this client wait for behind an open transaction. */
  stuck(): StuckPartition[];
  /** What is known against the brokers, in a line; undefined: nothing. Rejects while one is away. */
  brokerProblem(): Promise<string | undefined>;
  close(): Promise<void>;
}
