// Producing: in transactions that commit a group's positions with the messages, or plainly.
import type { GroupMember } from "./consumer-port.ts";
import type { OutgoingMessage } from "./record-port.ts";

export interface OffsetToCommit {
  partition: number;
  offset: string;
  metadata: string | null;
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

export interface TransactionalProducer<T extends string = string> {
  /**
   * Fences a predecessor with the same id and ends its open transaction, and whatever else of it is
   * open within the reach; also the way back after an unknown outcome.
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

/** Sent: full names of the topics that its user may send to. */
export interface KafkaProducers<Sent extends string = string> {
  /** Without a reach nothing is looked for that a predecessor's coordinator has forgotten. */
  transactionalProducer: (transactionalId: string, reach?: () => Reach) => TransactionalProducer<Sent>;
  plainProducer: () => PlainProducer<Sent>;
  /** Where a producer puts a key that comes without a partition. */
  partitionOf(key: string, partitions: number): number;
}
