// Record batches of Produce, written in one pass into bytes of the right size. kafkajs makes a
// buffer for every record and copies it five times on its way, which was the largest part of a
// stage's time (docs/design/delivery.md, Where the time goes). Without compression; what is
// compressed stays with kafkajs.
import { crc32c } from "../../../algorithms/numeric/crc32c.ts";

/** As kafkajs takes them. */
export interface ProducedMessage {
  key?: Buffer | string | null;
  value?: Buffer | string | null;
  headers?: object;
  timestamp?: string | number | null;
}

/** The records of one partition. */
export interface ProducedBatch {
  partition: number;
  firstSequence?: number | undefined;
  messages: readonly ProducedMessage[];
}

/** Who writes a batch; attributes as batches have them. */
export interface BatchProducer {
  id: bigint;
  epoch: number;
  attributes: number;
}

/** A message with what its size was computed from. */
interface Sized {
  size: number;
  timestampDelta: number;
  key: Buffer | null;
  value: Buffer | null;
  headers: readonly (readonly [name: Buffer, value: Buffer | null])[];
}

export interface SizedBatch {
  partition: number;
  firstSequence: number;
  firstTimestamp: number;
  maxTimestamp: number;
  records: readonly Sized[];
  /** Bytes of the batch, its base offset and length field included. */
  size: number;
}

/** First offset, length. */
const prefixBytes = 12;
/** The same, then leader epoch, magic, checksum, attributes up to the number of records. */
const batchBytes = prefixBytes + 49;
const crcAt = prefixBytes + 5;
const magic = 2;
export const transactional = 16;

/** now: the time of messages that bring none, milliseconds since the epoch. */
export function sizedBatch({ partition, firstSequence = 0, messages }: ProducedBatch, now: number): SizedBatch {
  const times = messages.map(({ timestamp }) =>
    timestamp === null || timestamp === undefined ? now : Number(timestamp),
  );
  let [first, last] = [times[0] ?? now, times[0] ?? now];
  for (const time of times) [first, last] = [Math.min(first, time), Math.max(last, time)];
  let size = batchBytes;
  const records = messages.map((message, index) => {
    const record = sized(message, times[index]! - first, index);
    size += varSize(record.size) + record.size;
    return record;
  });
  return { partition, firstSequence, firstTimestamp: first, maxTimestamp: last, records, size };
}

function sized(message: ProducedMessage, timestampDelta: number, offsetDelta: number): Sized {
  const [key, value] = [bytesOf(message.key), bytesOf(message.value)];
  const headers = message.headers === undefined ? none : headersOf(message.headers);
  let size = 1 + varSize(timestampDelta) + varSize(offsetDelta) + fieldSize(key) + fieldSize(value);
  size += varSize(headers.length);
  for (const [name, content] of headers) size += fieldSize(name) + fieldSize(content);
  return { size, timestampDelta, key, value, headers };
}

const none: Sized["headers"] = [];

const bytesOf = (value: Buffer | string | null | undefined): Buffer | null =>
  value === null || value === undefined ? null : Buffer.isBuffer(value) ? value : Buffer.from(value);

type HeaderValue = Buffer | string | null | undefined;

/** A header may have several values. */
const headersOf = (headers: object): Sized["headers"] =>
  Object.entries(headers as Record<string, HeaderValue | HeaderValue[]>).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one) => [Buffer.from(name), bytesOf(one)] as const),
  );

export function writeBatch(
  bytes: Buffer,
  from: number,
  { firstSequence, firstTimestamp, maxTimestamp, records, size }: SizedBatch,
  producer: BatchProducer,
): number {
  let at = bytes.writeBigInt64BE(0n, from); // first offset: the broker's
  at = bytes.writeInt32BE(size - prefixBytes, at);
  at = bytes.writeInt32BE(0, at); // leader epoch: the broker's
  at = bytes.writeInt8(magic, at) + 4;
  at = bytes.writeInt16BE(producer.attributes, at);
  at = bytes.writeInt32BE(records.length - 1, at);
  at = bytes.writeBigInt64BE(BigInt(firstTimestamp), at);
  at = bytes.writeBigInt64BE(BigInt(maxTimestamp), at);
  at = bytes.writeBigInt64BE(producer.id, at);
  at = bytes.writeInt16BE(producer.epoch, at);
  at = bytes.writeInt32BE(firstSequence, at);
  at = bytes.writeInt32BE(records.length, at);
  for (let index = 0; index < records.length; index++) {
    const { size: length, timestampDelta, key, value, headers } = records[index]!;
    at = writeVar(bytes, at, length);
    bytes[at++] = 0; // attributes
    at = writeVar(bytes, at, timestampDelta);
    at = writeVar(bytes, at, index);
    at = writeField(bytes, writeField(bytes, at, key), value);
    at = writeVar(bytes, at, headers.length);
    for (const [name, content] of headers) at = writeField(bytes, writeField(bytes, at, name), content);
  }
  bytes.writeUInt32BE(crc32c(bytes, from + crcAt + 4, at), from + crcAt);
  return at;
}

/** Zigzag, seven bits a byte, up to 2^52 either way: timestamps may differ by over 32 bits. */
const zigzag = (value: number): number => (value >= 0 ? 2 * value : -2 * value - 1);

const varSize = (value: number): number => unsignedSize(zigzag(value));
const writeVar = (bytes: Buffer, at: number, value: number): number => writeUnsigned(bytes, at, zigzag(value));

/** Bytes of a whole number, seven bits in each. */
export function unsignedSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size++;
  return size;
}

/** The position behind it. */
export function writeUnsigned(bytes: Buffer, from: number, value: number): number {
  let at = from;
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) + 128;
  bytes[at++] = rest;
  return at;
}

const fieldSize = (field: Buffer | null): number =>
  field === null ? varSize(-1) : varSize(field.length) + field.length;

function writeField(bytes: Buffer, at: number, field: Buffer | null): number {
  if (field === null) return writeVar(bytes, at, -1);
  const start = writeVar(bytes, at, field.length);
  return start + field.copy(bytes, start);
}
