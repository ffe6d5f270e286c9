// What Kafka's ports speak of: partitions, records as they lie in the log, messages to be sent.

/** `max.message.bytes` of the topics with the largest records: work and dead-letters. */
export const mostMessageBytes = 32 * 1024 * 1024;

export interface TopicPartition {
  topic: string;
  partition: number;
}

/** A batch of records that can't be read stands in the log as one record, at its last offset. */
export interface Unreadable {
  first: number;
  /** Stable: unknown_codec, broken_checksum, ... (protocol/compression/unreadable.ts). */
  code: string;
  reason: string;
}

/** A record as stored in the log. */
export interface RawRecord {
  offset: number;
  key: Buffer | null;
  /** Bytes of an unreadable batch as they were fetched. */
  value: Buffer | null;
  /** By name, without prototype: the last value of one that is repeated, none without a value. */
  headers: Record<string, Buffer>;
  /** All of them in their order; absent where `headers` says the same. */
  headerList?: readonly (readonly [name: string, value: Buffer | null])[];
  unreadable?: Unreadable;
  /** Milliseconds since the epoch, within what a Date can say. */
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
  headers?: Record<string, Buffer | string | Buffer[]>;
  /** Milliseconds since the epoch; now by default. */
  timestamp?: number;
}
