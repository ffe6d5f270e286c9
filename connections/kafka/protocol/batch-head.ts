// The head of a record batch, and what may be said of one that can't be read. Everything is at a
// fixed place. The checksum covers what follows it; where a batch begins and how long it is stands
// in front, and the broker rests on that itself.
import { crc32c } from "../../../algorithms/numeric/crc32c.ts";
import { Unreadable } from "./compression/unreadable.ts";

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

export interface BatchHead extends BatchContext {
  base: number;
  last: number;
  /** 0: as it is. */
  codec: number;
  /** Milliseconds since the epoch; any number of 64 bits, so it may be rounded. */
  firstTime: number;
  count: number;
}

/** First offset, length. */
export const prefixBytes = 12;
/** Leader epoch, magic, checksum, attributes up to the number of records. */
export const headBytes = 49;
const magic = 2;
const magicAt = 16;
const flags = { compression: 7, logAppendTime: 8, transactional: 16, control: 32 };

export const lengthOf = (bytes: Buffer, at: number): number => bytes.readInt32BE(at + 8);

/** Throws where the batch in [at, end) is none that can be read. */
export function checkHead(bytes: Buffer, at: number, end: number): void {
  const found = bytes[at + magicAt];
  if (found !== magic) throw new Unreadable("unknown_format", `its format is ${found ?? "none"}, not ${magic}`);
  if (end - at < prefixBytes + headBytes) throw new Unreadable("truncated_batch", "it is shorter than its head");
  const start = at + prefixBytes;
  if (crc32c(bytes, start + 9, end) !== bytes.readUInt32BE(start + 5))
    throw new Unreadable("broken_checksum", "its checksum is not that of its bytes");
}

export function readHead(bytes: Buffer, at: number): BatchHead {
  const start = at + prefixBytes;
  const attributes = bytes.readInt16BE(start + 9);
  const [base, lastOffsetDelta] = [int64(bytes, at), bytes.readInt32BE(start + 11)];
  return {
    base,
    last: base + lastOffsetDelta,
    codec: attributes & flags.compression,
    firstTime: int64(bytes, start + 15),
    count: bytes.readInt32BE(start + 45),
    firstOffset: String(base),
    firstTimestamp: int64Text(bytes, start + 15),
    partitionLeaderEpoch: bytes.readInt32BE(start),
    inTransaction: (attributes & flags.transactional) !== 0,
    isControlBatch: (attributes & flags.control) !== 0,
    lastOffsetDelta,
    producerId: int64Text(bytes, start + 31),
    producerEpoch: bytes.readInt16BE(start + 39),
    firstSequence: bytes.readInt32BE(start + 41),
    maxTimestamp: int64Text(bytes, start + 23),
    timestampType: (attributes & flags.logAppendTime) === 0 ? 0 : 1,
    magicByte: magic,
  };
}

/**
 * The last offset of a batch whose head is not to be trusted. Never behind the batch that follows;
 * where none is in sight, the head is believed if its own figures agree. Else one offset is passed,
 * and the broker gives the rest of the batch again.
 */
export function lastOfDamaged(bytes: Buffer, at: number, end: number, limit: number): number {
  const base = int64(bytes, at);
  const next = limit - end >= 8 && end > at ? int64(bytes, end) : Infinity;
  if (end - at < prefixBytes + headBytes || bytes[at + magicAt] !== magic)
    return Number.isFinite(next) ? next - 1 : base;
  const { last, lastOffsetDelta, count } = readHead(bytes, at);
  if (Number.isFinite(next)) return lastOffsetDelta >= 0 && last < next ? last : next - 1;
  return count === lastOffsetDelta + 1 && count > 0 ? last : base;
}

export const int64 = (bytes: Buffer, at: number): number =>
  bytes.readInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
/** Ids of producers and offsets may be any. */
export const int64Text = (bytes: Buffer, at: number): string => {
  const value = int64(bytes, at);
  return Number.isSafeInteger(value) ? String(value) : String(bytes.readBigInt64BE(at));
};
