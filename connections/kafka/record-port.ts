// What Kafka's ports speak of: partitions, records as they lie in the log, messages to be sent.

export interface TopicPartition {
  topic: string;
  partition: number;
}

/** A record as stored in the log. */
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
