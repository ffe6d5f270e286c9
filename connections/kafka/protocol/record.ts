// The records of a batch, decompressed. Numbers are of any length; what Kafka's own client would
// refuse (a header without a name, a field that ends behind its record) makes the batch unreadable.
import type { BatchHead } from "./batch-head.ts";
import { corrupt, Unreadable } from "./compression/unreadable.ts";
import type { Batches, Budget, FetchedMessage, Headers } from "./fetched-message.ts";

/** Where reading stands. */
export interface Cursor {
  readonly bytes: Buffer;
  at: number;
}

/** Kafka has no limit; each costs more than its bytes. */
const mostHeaders = 10_000;
const none: Headers = [];

/** Records before `from` are passed; isCut: the budget ended before the batch. */
export function readRecords(head: BatchHead, bytes: Buffer, from: number, budget: Budget): Batches {
  const messages: FetchedMessage[] = [];
  const cursor: Cursor = { bytes, at: 0 };
  const appended = head.timestampType === 1;
  // Many records of a batch have the same time.
  let [timestamp, timestampDelta] = [appended ? head.maxTimestamp : head.firstTimestamp, 0];
  for (let left = count(head.count); left > 0; left--) {
    const length = readVar(cursor);
    const recordEnd = cursor.at + length;
    if (length <= 0 || recordEnd > bytes.length) throw corrupt("a record that ends behind its batch");
    const attributes = bytes.readInt8(cursor.at++);
    const delta = readLong(cursor);
    if (delta !== timestampDelta && !appended) timestamp = textOf(head.firstTime + delta);
    timestampDelta = delta;
    const offset = head.base + readVar(cursor);
    if (offset < from) {
      cursor.at = recordEnd;
      continue;
    }
    if (budget.records <= 0) return { messages, isCut: true };
    const key = readField(cursor, recordEnd);
    const value = readField(cursor, recordEnd);
    const headers = readHeaders(cursor, recordEnd);
    if (cursor.at > recordEnd) throw corrupt("fields that end behind their record");
    cursor.at = recordEnd;
    budget.records -= 1 + headers.length;
    messages.push({
      magicByte: head.magicByte,
      attributes,
      timestamp,
      offset: String(offset),
      key,
      value,
      headers,
      isControlRecord: head.isControlBatch,
      batchContext: head,
    });
  }
  return { messages, isCut: false };
}

function readHeaders(cursor: Cursor, end: number): Headers {
  const length = count(readVar(cursor));
  if (length === 0) return none;
  if (length > mostHeaders)
    throw new Unreadable("batch_too_large", `a record has ${length} headers, and it may have ${mostHeaders}`);
  const headers: [string, Buffer | null][] = [];
  for (let left = length; left > 0; left--) {
    const name = readField(cursor, end);
    if (name === null) throw corrupt("a header without a name");
    headers.push([name.toString(), readField(cursor, end)]);
  }
  return headers;
}

function readField(cursor: Cursor, end: number): Buffer | null {
  const length = readVar(cursor);
  if (length === -1) return null;
  const from = cursor.at;
  if (length < 0 || from + length > end) throw corrupt("a field that ends behind its record");
  cursor.at = from + length;
  return cursor.bytes.subarray(from, from + length);
}

/** A whole number of 32 bits. */
function readVar(cursor: Cursor): number {
  const byte = cursor.bytes[cursor.at]!;
  if (byte < 128) {
    cursor.at++;
    return (byte >>> 1) ^ -(byte & 1);
  }
  const value = readLong(cursor);
  if (value !== (value | 0)) throw corrupt("a number of more than 32 bits");
  return value;
}

/** Zigzag, seven bits a byte; above 2^53 it is rounded. */
function readLong(cursor: Cursor): number {
  let value = 0;
  const isNegative = (cursor.bytes[cursor.at] ?? 0) % 2 === 1;
  for (let unit = 1; unit < 2 ** 64; unit *= 128) {
    const byte = cursor.bytes[cursor.at++];
    if (byte === undefined) break;
    value += (byte & 127) * unit;
    if (byte < 128) return isNegative ? -(value + 1) / 2 : value / 2;
  }
  throw corrupt("a number without an end");
}

const textOf = (time: number): string => (Number.isSafeInteger(time) ? String(time) : String(BigInt(Math.round(time))));

/** How many an array has; -1: there is none. */
export function count(length: number): number {
  if (length < -1) throw corrupt("an array of no length");
  return Math.max(length, 0);
}
