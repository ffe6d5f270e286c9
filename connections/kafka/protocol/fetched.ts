// The answer to Fetch 11: the objects that kafkajs' own decoder makes, but for batches that it does
// not read or does not check (fetched-records.ts). What is decompressed and read of one answer is
// bounded. A partition whose turn comes after that is left out and fetched again, and every answer
// begins with another one: none waits for the batches of the others for ever.
import { int64Text } from "./batch-head.ts";
import type { Budget, FetchedMessage } from "./fetched-message.ts";
import { readBatches } from "./fetched-records.ts";
import { count, type Cursor } from "./record.ts";

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

export interface Reading {
  /** The offset that was asked for. */
  wanted: (topic: string, partition: number) => number;
  /** What is decompressed and read of the answer, and decompressed of a batch. */
  budget: Budget;
  /** Which partition with records is read first, counted beyond their number. */
  turn: number;
}

/** A partition with where its records are. */
interface Slice {
  topic: string;
  partition: FetchedPartition;
  from: number;
  end: number;
}

/** Rejects where the answer itself makes no sense, whatever its batches are. */
export async function decodeFetched(bytes: Buffer, reading: Reading): Promise<Fetched> {
  const cursor: Cursor = { bytes, at: 10 };
  const slices: Slice[] = [];
  const fetched: Fetched = {
    throttleTime: 0,
    clientSideThrottleTime: bytes.readInt32BE(0),
    errorCode: bytes.readInt16BE(4),
    sessionId: bytes.readInt32BE(6),
    responses: readArray(cursor, (at) => readTopic(at, slices)),
  };
  const leftOut = new Set<FetchedPartition>();
  for (let index = 0; index < slices.length; index++) {
    const slice = slices[(index + reading.turn) % slices.length]!;
    const { topic, partition, from, end } = slice;
    const wanted = reading.wanted(topic, partition.partition);
    const isFirst = slice === slices[0];
    const { messages, isCut } = await readBatches({ bytes, from, end, wanted, isFirst }, reading.budget);
    partition.messages = messages;
    if (isCut && messages.length === 0) leftOut.add(partition);
  }
  if (leftOut.size > 0)
    for (const topic of fetched.responses) topic.partitions = topic.partitions.filter((one) => !leftOut.has(one));
  return fetched;
}

function readArray<T>(cursor: Cursor, read: (cursor: Cursor) => T): T[] {
  const values: T[] = [];
  for (let left = count(readInt32(cursor)); left > 0; left--) values.push(read(cursor));
  return values;
}

function readTopic(cursor: Cursor, slices: Slice[]): FetchedTopic {
  const topicName = readString(cursor);
  return { topicName, partitions: readArray(cursor, (at) => readPartition(at, topicName ?? "", slices)) };
}

function readPartition(cursor: Cursor, topic: string, slices: Slice[]): FetchedPartition {
  const { bytes, at } = cursor;
  cursor.at += 30;
  const partition: FetchedPartition = {
    partition: bytes.readInt32BE(at),
    errorCode: bytes.readInt16BE(at + 4),
    highWatermark: int64Text(bytes, at + 6),
    lastStableOffset: int64Text(bytes, at + 14),
    lastStartOffset: int64Text(bytes, at + 22),
    abortedTransactions: readArray(cursor, readAborted),
    preferredReadReplica: readInt32(cursor),
    messages: [],
  };
  const size = readInt32(cursor);
  if (size <= 0) return partition;
  const from = cursor.at;
  cursor.at += size;
  if (cursor.at > bytes.length) throw new RangeError("records behind the end of the answer");
  slices.push({ topic, partition, from, end: cursor.at });
  return partition;
}

function readAborted(cursor: Cursor): AbortedRange {
  const { bytes, at } = cursor;
  cursor.at += 16;
  return { producerId: int64Text(bytes, at), firstOffset: int64Text(bytes, at + 8) };
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
