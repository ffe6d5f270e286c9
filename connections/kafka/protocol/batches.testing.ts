// Answers to Fetch as a broker may send them, written field by field: every codec, and every fault.
import { createRequire } from "node:module";
import { gzipSync } from "node:zlib";
import { compressSync } from "snappy";
import { compressFrameSync } from "lz4-napi";
import { crc32c } from "../../../algorithms/numeric/crc32c.ts";

interface Writer {
  buffer: Buffer;
  writeInt8(value: number): Writer;
  writeInt16(value: number): Writer;
  writeInt32(value: number): Writer;
  writeInt64(value: string | bigint): Writer;
  writeVarInt(value: number): Writer;
  writeVarLong(value: number | bigint): Writer;
  writeVarIntBytes(value: Buffer | null): Writer;
  writeString(value: string | null): Writer;
  writeBytes(value: Buffer | null): Writer;
  writeBuffer(value: Buffer): Writer;
}
const Encoder = createRequire(import.meta.url)("kafkajs/src/protocol/encoder") as new () => Writer;

export interface WrittenRecord {
  attributes: number;
  timestampDelta: number;
  /** Compaction leaves gaps. */
  offsetDelta: number;
  key: Buffer | null;
  value: Buffer | null;
  headers: { name: Buffer | null; value: Buffer | null }[] | null;
}
export interface WrittenBatch {
  firstOffset: bigint;
  /** That of the last record by default; compaction takes records at the end, too. */
  lastOffsetDelta?: number;
  epoch: number;
  attributes: number;
  firstTimestamp: bigint;
  maxTimestamp: bigint;
  producerId: bigint;
  producerEpoch: number;
  sequence: number;
  records: WrittenRecord[];
}
export interface WrittenPartition {
  partition: number;
  errorCode: number;
  offsets: [bigint, bigint, bigint];
  aborted: { producerId: bigint; firstOffset: bigint }[] | null;
  replica: number;
  batches: WrittenBatch[] | null;
  /** Bytes of the last batch that the broker leaves out. */
  cut: number;
}

export const plainRecord = (offsetDelta: number, value: Buffer | null): WrittenRecord => ({
  ...{ attributes: 0, timestampDelta: 0, offsetDelta, key: null, value, headers: [] },
});
export const plainBatch = (firstOffset: number, values: (Buffer | null)[], attributes = 0): WrittenBatch => ({
  ...{ firstOffset: BigInt(firstOffset), epoch: 0, attributes, sequence: -1, producerId: -1n, producerEpoch: -1 },
  ...{ firstTimestamp: 1_700_000_000_000n, maxTimestamp: 1_700_000_000_000n },
  records: values.map((value, index) => plainRecord(index, value)),
});

function recordBytes(record: WrittenRecord): Buffer {
  const { attributes, timestampDelta, offsetDelta, key, value, headers } = record;
  const fields = new Encoder().writeInt8(attributes).writeVarLong(timestampDelta).writeVarInt(offsetDelta);
  fields.writeVarIntBytes(key).writeVarIntBytes(value);
  fields.writeVarInt(headers === null ? -1 : headers.length);
  for (const header of headers ?? []) fields.writeVarIntBytes(header.name).writeVarIntBytes(header.value);
  return fields.buffer;
}

const xerialHead = Buffer.from("82534e4150505900000000010000000100000000".slice(0, 32), "hex");
const chunksOf = (bytes: Buffer, most: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / most) }, (_, index) =>
    bytes.subarray(index * most, (index + 1) * most),
  );

/** Blocks in the framing of snappy-java. */
export const xerial = (bytes: Buffer, blockBytes = 100): Buffer =>
  Buffer.concat([
    xerialHead,
    ...chunksOf(bytes, blockBytes).map((chunk) => new Encoder().writeBytes(compressSync(chunk)).buffer),
  ]);

/** A frame of Zstandard: raw blocks, or one block that repeats a byte. */
export function zstdFrame(blocks: (Buffer | { byte: number; times: number })[], withSize = false): Buffer {
  const size = blocks.reduce((sum, one) => sum + (Buffer.isBuffer(one) ? one.length : one.times), 0);
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, withSize ? 0x80 : 0, 0x58]);
  const content = Buffer.alloc(withSize ? 4 : 0);
  if (withSize) content.writeUInt32LE(size);
  const written = blocks.flatMap((one, index) => {
    const [type, length] = Buffer.isBuffer(one) ? [0, one.length] : [1, one.times];
    const block = Buffer.alloc(3);
    block.writeUIntLE((length << 3) | (type << 1) | (index === blocks.length - 1 ? 1 : 0), 0, 3);
    return [block, Buffer.isBuffer(one) ? one : Buffer.from([one.byte])];
  });
  return Buffer.concat([head, content, ...written]);
}

export const compressors: Readonly<Record<number, (bytes: Buffer) => Buffer>> = {
  0: (bytes) => bytes,
  1: (bytes) => gzipSync(bytes),
  2: (bytes) => xerial(bytes),
  3: (bytes) => compressFrameSync(bytes),
  4: (bytes) => zstdFrame(bytes.length === 0 ? [bytes] : chunksOf(bytes, 1000)),
};

/** payload: what stands behind the head, in place of the batch's records. */
export function batchBytes(batch: WrittenBatch, payload?: Buffer): Buffer {
  const written = Buffer.concat(batch.records.map((one) => new Encoder().writeVarIntBytes(recordBytes(one)).buffer));
  const compress = compressors[batch.attributes & 7] ?? ((bytes: Buffer) => bytes);
  const body = new Encoder().writeInt32(batch.epoch).writeInt8(2).writeInt32(0);
  body.writeInt16(batch.attributes).writeInt32(batch.lastOffsetDelta ?? batch.records.at(-1)?.offsetDelta ?? 0);
  body.writeInt64(batch.firstTimestamp).writeInt64(batch.maxTimestamp).writeInt64(batch.producerId);
  body.writeInt16(batch.producerEpoch).writeInt32(batch.sequence).writeInt32(batch.records.length);
  body.writeBuffer(payload ?? (batch.records.length === 0 ? written : compress(written)));
  const bytes = new Encoder().writeInt64(batch.firstOffset).writeBytes(body.buffer).buffer;
  return withChecksum(bytes);
}

/** Sets the checksum to what the bytes are. */
export function withChecksum(batch: Buffer): Buffer {
  batch.writeUInt32BE(crc32c(batch, 21, batch.length), 17);
  return batch;
}

const partitionBytes = (one: WrittenPartition): Buffer =>
  partitionOf(one, one.batches === null ? null : Buffer.concat(one.batches.map((batch) => batchBytes(batch))));

function partitionOf(one: WrittenPartition, records: Buffer | null): Buffer {
  const written = new Encoder().writeInt32(one.partition).writeInt16(one.errorCode);
  for (const offset of one.offsets) written.writeInt64(offset);
  written.writeInt32(one.aborted === null ? -1 : one.aborted.length);
  for (const { producerId, firstOffset } of one.aborted ?? []) written.writeInt64(producerId).writeInt64(firstOffset);
  written.writeInt32(one.replica);
  const whole = records === null ? null : records.subarray(0, Math.max(records.length - one.cut, 0));
  return written.writeBytes(whole).buffer;
}

function answerOf(topics: { topic: string; partitions: Buffer[] }[]): Buffer {
  const answer = new Encoder().writeInt32(7).writeInt16(0).writeInt32(0).writeInt32(topics.length);
  for (const { topic, partitions } of topics) {
    answer.writeString(topic).writeInt32(partitions.length);
    for (const one of partitions) answer.writeBuffer(one);
  }
  return answer.buffer;
}

export const answerBytes = (topics: { topic: string; partitions: WrittenPartition[] }[]): Buffer =>
  answerOf(topics.map(({ topic, partitions }) => ({ topic, partitions: partitions.map(partitionBytes) })));

/** An answer for partitions 0, 1, ... of the topic t, each with these bytes. */
export const answerWith = (...partitions: Buffer[]): Buffer =>
  answerOf([
    {
      topic: "t",
      partitions: partitions.map((records, partition) =>
        partitionOf(
          { partition, errorCode: 0, offsets: [99n, 99n, 0n], aborted: null, replica: -1, batches: null, cut: 0 },
          records,
        ),
      ),
    },
  ]);
