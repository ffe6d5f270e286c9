// The answer to Fetch 11, read in one pass: the same objects as kafkajs' own decoder makes. What
// is not read here (message sets, compressed batches, bytes that make no sense) is left to kafkajs,
// so that its results and its errors stay what they were.
import { count, int64Text, readBatches, type Cursor, type FetchedMessage } from "./fetched-records.ts";

export interface AbortedRange {
  producerId: string;
  firstOffset: string;
}

export interface FetchedPartition {
  partition: number;
  errorCode: number;
  highWatermark: string;
  lastStableOffset: string;
  /** The log's first offset; named as kafkajs does. */
  lastStartOffset: string;
  abortedTransactions: AbortedRange[];
  preferredReadReplica: number;
  messages: FetchedMessage[];
}

export interface FetchedTopic {
  topicName: string | null;
  partitions: FetchedPartition[];
}

export interface Fetched {
  /** None that the broker has kept; the client's is `clientSideThrottleTime`. */
  throttleTime: 0;
  clientSideThrottleTime: number;
  errorCode: number;
  sessionId: number;
  responses: FetchedTopic[];
}

/** undefined: kafkajs has to read it. */
export function decodeFetched(bytes: Buffer): Fetched | undefined {
  try {
    const cursor: Cursor = { bytes, at: 10 };
    return {
      throttleTime: 0,
      clientSideThrottleTime: bytes.readInt32BE(0),
      errorCode: bytes.readInt16BE(4),
      sessionId: bytes.readInt32BE(6),
      responses: readArray(cursor, readTopic),
    };
  } catch {
    return undefined;
  }
}

function readArray<T>(cursor: Cursor, read: (cursor: Cursor) => T): T[] {
  const values: T[] = [];
  for (let left = count(readInt32(cursor)); left > 0; left--) values.push(read(cursor));
  return values;
}

function readTopic(cursor: Cursor): FetchedTopic {
  return { topicName: readString(cursor), partitions: readArray(cursor, readPartition) };
}

function readPartition(cursor: Cursor): FetchedPartition {
  const { bytes, at } = cursor;
  cursor.at += 30;
  return {
    partition: bytes.readInt32BE(at),
    errorCode: bytes.readInt16BE(at + 4),
    highWatermark: int64Text(bytes, at + 6),
    lastStableOffset: int64Text(bytes, at + 14),
    lastStartOffset: int64Text(bytes, at + 22),
    abortedTransactions: readArray(cursor, readAborted),
    preferredReadReplica: readInt32(cursor),
    messages: readMessages(cursor),
  };
}

function readAborted(cursor: Cursor): AbortedRange {
  const { bytes, at } = cursor;
  cursor.at += 16;
  return { producerId: int64Text(bytes, at), firstOffset: int64Text(bytes, at + 8) };
}

function readMessages(cursor: Cursor): FetchedMessage[] {
  const size = readInt32(cursor);
  if (size <= 0) return [];
  const from = cursor.at;
  cursor.at += size;
  if (cursor.at > cursor.bytes.length) throw new RangeError("records behind the end of the answer");
  return readBatches(cursor.bytes, from, cursor.at);
}

function readInt32(cursor: Cursor): number {
  const value = cursor.bytes.readInt32BE(cursor.at);
  cursor.at += 4;
  return value;
}

function readString(cursor: Cursor): string | null {
  const { bytes, at } = cursor;
  const length = bytes.readInt16BE(at);
  cursor.at += 2;
  if (length === -1) return null;
  cursor.at += count(length);
  if (cursor.at > bytes.length) throw new RangeError("a name behind the end of the answer");
  return bytes.toString("utf8", at + 2, cursor.at);
}
