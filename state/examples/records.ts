// The pool's records as bytes, with a checksum of content and key: a flipped bit gives null.
import { crc32 } from "node:zlib";
import { readHalves, writeHalves } from "../../algorithms/selection/half-precision.ts";
import type { Example } from "../../schemas/types.ts";
import type { HeldExample } from "./port.ts";

/** What holds an example: the partitions that brought it, and an upsert() ahead of them. */
export interface Holding {
  key: number;
  domain: number;
  ahead: boolean;
  partitions: number[];
}

const checksumBytes = 4;
const holdingBytes = 16;
const vectorHeader = 12;

function seal(bytes: Buffer, seed: number): Buffer {
  bytes.writeUInt32LE(crc32(bytes.subarray(checksumBytes), seed), 0);
  return bytes;
}
const isComplete = (bytes: Buffer, seed: number, minimum: number): boolean =>
  bytes.length >= minimum && crc32(bytes.subarray(checksumBytes, bytes.length), seed) === bytes.readUInt32LE(0);

export function encodeHolding(id: string, { key, domain, ahead, partitions }: Holding): Buffer {
  const bytes = Buffer.alloc(holdingBytes + 4 * partitions.length);
  bytes.writeUInt32LE(key, 4);
  bytes.writeUInt32LE(domain, 8);
  bytes.writeUInt32LE(ahead ? 1 : 0, 12);
  partitions.forEach((partition, i) => bytes.writeUInt32LE(partition, holdingBytes + 4 * i));
  return seal(bytes, crc32(id));
}

export function decodeHolding(id: string, bytes: Buffer): Holding | null {
  if (!isComplete(bytes, crc32(id), holdingBytes)) return null;
  const partitions: number[] = [];
  for (let at = holdingBytes; at < bytes.length; at += 4) partitions.push(bytes.readUInt32LE(at));
  return { key: bytes.readUInt32LE(4), domain: bytes.readUInt32LE(8), ahead: bytes.readUInt32LE(12) === 1, partitions };
}

/** All but the vector, of that checksum and model. An array: names would take half. */
export function encodeExample(key: number, example: Example): Buffer {
  const { source } = example;
  const row: Row = [
    example.id,
    example.tenant,
    example.domain,
    example.request,
    example.response,
    source.arm,
    source.model,
    source.requestId,
    example.quality,
    example.bytes,
    example.expiresAt,
    example.replays,
    example.createdAt,
    example.embeddingModel,
    crc32(example.embedding),
  ];
  const text = JSON.stringify(row);
  const bytes = Buffer.allocUnsafe(checksumBytes + Buffer.byteLength(text));
  bytes.write(text, checksumBytes);
  return seal(bytes, key);
}
type Row = [
  id: string,
  tenant: string,
  domain: string,
  request: string,
  response: string,
  arm: string,
  model: string,
  requestId: string | null,
  quality: number,
  bytes: number,
  expiresAt: number | null,
  replays: number,
  createdAt: number,
  embeddingModel: string,
  embeddingChecksum: number,
];

export function decodeExample(key: number, bytes: Buffer): HeldExample | null {
  if (!isComplete(bytes, key, checksumBytes + 2)) return null;
  const [id, tenant, domain, request, response, arm, model, requestId, quality, size, expiresAt, replays, at] =
    // The checksum says that this is what encodeExample wrote.
    JSON.parse(bytes.toString("utf8", checksumBytes, bytes.length)) as Row;
  const source = { arm, model, requestId };
  const texts = { id, tenant, domain, request, response };
  return { ...texts, source, quality, bytes: size, expiresAt, replays, createdAt: at };
}

/** The expiry stands here too: the expired are passed over without reading their texts. */
export function encodeVector(slot: number, vector: Float32Array, expiresAt: number | null): Buffer {
  const bytes = Buffer.allocUnsafe(vectorHeader + 2 * vector.length);
  bytes.writeDoubleLE(expiresAt ?? Infinity, 4);
  writeHalves(bytes, vectorHeader, vector);
  return seal(bytes, slotSeed(slot));
}

/** Reads into `into`; expiry in ms since the epoch or Infinity; null: damaged. */
export function decodeVector(slot: number, bytes: Buffer, into: Float32Array): number | null {
  if (bytes.length !== vectorHeader + 2 * into.length || !isComplete(bytes, slotSeed(slot), vectorHeader)) return null;
  readHalves(bytes, vectorHeader, into);
  return bytes.readDoubleLE(4);
}

/** By domain (upper half), so that its vectors are read in one go. At most 2^53. */
export const slotOf = (domain: number, key: number): number => domain * 2 ** 32 + key;
export const keyOf = (slot: number): number => slot % 2 ** 32;
export const domainOf = (slot: number): number => Math.floor(slot / 2 ** 32);
const slotSeed = (slot: number): number => (keyOf(slot) ^ Math.imul(domainOf(slot), 0x9e3779b1)) >>> 0;

/** Small records that are not read in a hurry. */
export function encodeJson(name: string, value: object): Buffer {
  return seal(Buffer.from(`    ${JSON.stringify(value)}`), crc32(name));
}
/** null: damaged. Typed by the reader, as encodeJson wrote it. */
export const decodeJson = <T>(name: string, bytes: Buffer): T | null =>
  isComplete(bytes, crc32(name), checksumBytes)
    ? (JSON.parse(bytes.toString("utf8", checksumBytes, bytes.length)) as T)
    : null;
