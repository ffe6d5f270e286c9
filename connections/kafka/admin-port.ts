// What Kafka says of its topics, groups and transactions, and the little that is done about them.
// All of it rejects while a broker that must answer is away.
import type { Origin } from "../../algorithms/identity/origin.ts";
import type { TopicOwners } from "../../schemas/records.ts";
import type { Reach } from "./producer-port.ts";

export interface PartitionSpan {
  partition: number;
  /** First offset that the broker has, and the one behind its last, control markers included. */
  beginning: number;
  end: number;
}

export interface PartitionEnds {
  partition: number;
  /** The last stable offset: an open transaction begins there, which blocks committed readers. */
  stable: number;
  /** Behind the last record that is replicated. */
  high: number;
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
  keeps: TopicRetention;
}

/** How long a topic keeps what it has; milliseconds, null: without limit. */
export interface TopicRetention {
  /** After the newest record of its segment; null: for good, or until it is compacted. */
  retentionMs: number | null;
  /** How long a segment may stand open, and is neither compacted nor removed. */
  segmentMs: number;
  /** Until what was replaced is compacted away; null: not compacted, or no limit is set. */
  compactionLagMs: number | null;
  compacts: boolean;
}

/** Where hanging transactions are searched: in topics all, in offsets those of our producers. */
export interface HangingSearch extends Reach {
  /** Prefix of our producers' transactional ids: groups share partitions of offsets. */
  idPrefix: string;
}

/** A transaction that its coordinator will not end: it blocks readers and positions. */
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

/** The topics, and the cluster that they lie in. */
export interface KafkaTopics {
  /** Makes what is missing; arms and tenants have topics of their own. */
  ensureTopics(owners: TopicOwners): Promise<void>;
  /** Names of all topics that the broker shows us. */
  topics(): Promise<string[]>;
  /** Spans of a topic's partitions, by partition. Rejects while the broker is away. */
  spans(topic: string): Promise<PartitionSpan[]>;
  /** The ends of every partition of a topic. Rejects while a broker is away. */
  ends(topic: string): Promise<PartitionEnds[]>;
  /** What has the topics' names now. Rejects while the broker is away. */
  origins(topics: readonly string[]): Promise<ReadonlyMap<string, Origin>>;
  /** Offsets mean something in this cluster alone. Rejects while the broker is away. */
  clusterId(): Promise<string>;
}

/** The consumer groups. */
export interface KafkaGroups {
  /** Names of all consumer groups that the broker shows us. */
  groups(): Promise<string[]>;
  /** Processes in a consumer group; 0: no such group. Rejects while the broker is away. */
  members(group: string): Promise<number>;
  /** End offset and, with a group, committed offset of every partition of a topic. */
  lag(
    group: string,
    topic: string,
  ): Promise<{ partition: number; end: number; committed: number | undefined; metadata: string }[]>;
}

/** Whether what is written is safe, and what hangs. */
export interface KafkaSafety {
  /** Copies of existing topics, and those that would be made now. */
  durability(topics: readonly string[]): Promise<{ wanted: Durability; found: ReadonlyMap<string, TopicSafety> }>;
  /** What is known against the brokers; undefined: nothing. Rejects while one is away. */
  brokerProblem(): Promise<string | undefined>;
  /** Rejects while a leader or a coordinator is away. */
  hangingTransactions(search: HangingSearch): Promise<HangingTransaction[]>;
  /** Ends those with an outcome on record as it says, refuses others. Needs ClusterAction. */
  endTransactions(hanging: readonly HangingTransaction[]): Promise<EndedTransaction[]>;
}
