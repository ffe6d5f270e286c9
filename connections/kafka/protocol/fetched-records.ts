// Record batches of an answer to Fetch, read in one pass over its bytes. kafkajs makes a decoder
// and a buffer for every record, and a big integer for each of its numbers. Only what a producer
// writes without compression is read here; at anything else this throws, and the answer is left to
// kafkajs (fetched.ts).

/** What kafkajs gives with each message of a batch. */
export interface BatchContext {
  firstOffset: string;
  firstTimestamp: string;
  partitionLeaderEpoch: number;
  inTransaction: boolean;
  isControlBatch: boolean;
  lastOffsetDelta: number;
  producerId: string;
  producerEpoch: number;
  firstSequence: number;
  maxTimestamp: string;
  timestampType: number;
  magicByte: number;
}

type HeaderValue = Buffer | null;

/** A message as kafkajs gives it. Keys and values are views of the answer, as with kafkajs. */
export interface FetchedMessage {
  magicByte: number;
  attributes: number;
  timestamp: string;
  offset: string;
  key: Buffer | null;
  value: Buffer | null;
  headers: Record<string, HeaderValue | HeaderValue[]>;
  isControlRecord: boolean;
  batchContext: BatchContext;
}

/** Where reading stands. */
export interface Cursor {
  readonly bytes: Buffer;
  at: number;
}

/** First offset, length. */
const prefixBytes = 12;
/** Leader epoch, magic, checksum, attributes up to the number of records. */
const headBytes = 49;
const magic = 2;
const flags = { compression: 7, logAppendTime: 8, transactional: 16, control: 32 };

class Unreadable extends Error {
  override name = "Unreadable";
}

/** Records of the batches in [from, end); a truncated last batch is left out. */
export function readBatches(bytes: Buffer, from: number, end: number): FetchedMessage[] {
  const messages: FetchedMessage[] = [];
  if (end - from < headBytes) throw new Unreadable("less than a batch");
  // kafkajs looks for a further batch in as many bytes.
  for (let at = from; end - at >= headBytes;) {
    const start = at + prefixBytes;
    const length = bytes.readInt32BE(at + 8);
    if (bytes[start + 4] !== magic) throw new Unreadable("a message set");
    if (length < headBytes) throw new Unreadable("a batch that is too short");
    if (start + length > end) break;
    readBatch(bytes, at, start + length, messages);
    at = start + length;
  }
  return messages;
}

function readBatch(bytes: Buffer, from: number, end: number, messages: FetchedMessage[]): void {
  const start = from + prefixBytes;
  const attributes = bytes.readInt16BE(start + 9);
  if ((attributes & flags.compression) !== 0) throw new Unreadable("a compressed batch");
  const firstOffset = safeInt64(bytes, from);
  const firstTimestamp = safeInt64(bytes, start + 15);
  const maxTimestamp = int64Text(bytes, start + 23);
  const appended = (attributes & flags.logAppendTime) !== 0;
  const isControlBatch = (attributes & flags.control) !== 0;
  const batchContext: BatchContext = {
    firstOffset: String(firstOffset),
    firstTimestamp: String(firstTimestamp),
    partitionLeaderEpoch: bytes.readInt32BE(start),
    inTransaction: (attributes & flags.transactional) !== 0,
    isControlBatch,
    lastOffsetDelta: bytes.readInt32BE(start + 11),
    producerId: int64Text(bytes, start + 31),
    producerEpoch: bytes.readInt16BE(start + 39),
    firstSequence: bytes.readInt32BE(start + 41),
    maxTimestamp,
    timestampType: appended ? 1 : 0,
    magicByte: magic,
  };
  const cursor: Cursor = { bytes, at: start + headBytes };
  // Many records of a batch have the same time.
  let [timestamp, timestampDelta] = [appended ? maxTimestamp : batchContext.firstTimestamp, 0];
  for (let left = count(bytes.readInt32BE(start + 45)); left > 0; left--) {
    const length = readVar(cursor);
    const recordEnd = cursor.at + length;
    if (length <= 0 || recordEnd > end) throw new Unreadable("a record that ends behind its batch");
    const recordAttributes = bytes.readInt8(cursor.at++);
    const delta = readLong(cursor);
    if (delta !== timestampDelta && !appended) timestamp = String(safe(firstTimestamp + delta));
    timestampDelta = delta;
    const offset = String(safe(firstOffset + readVar(cursor)));
    const key = readField(cursor, recordEnd);
    const value = readField(cursor, recordEnd);
    const headers = readHeaders(cursor, recordEnd);
    if (cursor.at > recordEnd) throw new Unreadable("fields that end behind their record");
    cursor.at = recordEnd;
    messages.push({
      magicByte: magic,
      attributes: recordAttributes,
      timestamp,
      offset,
      key,
      value,
      headers,
      isControlRecord: isControlBatch,
      batchContext,
    });
  }
}

function readHeaders(cursor: Cursor, end: number): FetchedMessage["headers"] {
  const headers: FetchedMessage["headers"] = {};
  for (let left = count(readVar(cursor)); left > 0; left--) {
    const name = String(readField(cursor, end));
    if (name === "__proto__") throw new Unreadable("a header that is no key of an object");
    const value = readField(cursor, end);
    const former = headers[name];
    headers[name] = former === undefined ? value : Array.isArray(former) ? [...former, value] : [former, value];
  }
  return headers;
}

function readField(cursor: Cursor, end: number): Buffer | null {
  const length = readVar(cursor);
  if (length === -1) return null;
  const from = cursor.at;
  if (length < 0 || from + length > end) throw new Unreadable("a field that ends behind its record");
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
  if (value !== (value | 0)) throw new Unreadable("a number of more than 32 bits");
  return value;
}

/** Zigzag, seven bits a byte, 49 at most: no two times are further apart. */
function readLong(cursor: Cursor): number {
  let value = 0;
  for (let unit = 1; unit <= 2 ** 42; unit *= 128) {
    const byte = cursor.bytes[cursor.at++];
    if (byte === undefined) break;
    value += (byte & 127) * unit;
    if (byte < 128) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
  throw new Unreadable("a number without an end");
}

const safe = (value: number): number => {
  if (!Number.isSafeInteger(value)) throw new Unreadable("a number that is not exact");
  return value;
};
const int64 = (bytes: Buffer, at: number): number => bytes.readInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
const safeInt64 = (bytes: Buffer, at: number): number => safe(int64(bytes, at));
/** Ids of producers and offsets may be any. */
export const int64Text = (bytes: Buffer, at: number): string => {
  const value = int64(bytes, at);
  return Number.isSafeInteger(value) ? String(value) : String(bytes.readBigInt64BE(at));
};

/** How many an array has; -1: there is none. */
export function count(length: number): number {
  if (length < -1) throw new Unreadable("an array of no length");
  return Math.max(length, 0);
}
