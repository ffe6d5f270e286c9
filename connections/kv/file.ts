// A chunk cache as a file: magic, lengths, JSON header, blob, SHA-256 of what stands before the
// blob and of the blob's own. What does not fit is refused with the reason.
import { createHash, webcrypto } from "node:crypto";
import { type Convention, conventions, type Impact, type KvEntry, type PrefixChunk } from "./port.ts";
import { isKey } from "./keys.ts";

// "PKV" and the version of this layout.
const magic = Buffer.from("PKV2");
const digestBytes = 32;
/** Magic, u32 length of the header, u64 length of the blob (little-endian). */
export const preambleBytes = 16;
/** A header names the chunks of a prefix; more than this is no header. */
const longestHeader = 1_048_576;

export type Read<T> = { ok: true; value: T } | { ok: false; reason: string };

const refused = (reason: string): { ok: false; reason: string } => ({ ok: false, reason });

/** The parts of a file, to be written one after the other. `format` as formatKey. */
export async function encodeFile(format: string, entry: KvEntry, blob: Uint8Array): Promise<Uint8Array[]> {
  const header = Buffer.from(JSON.stringify({ format, ...entry }));
  const preamble = Buffer.alloc(preambleBytes);
  magic.copy(preamble);
  preamble.writeUInt32LE(header.length, 4);
  preamble.writeBigUInt64LE(BigInt(blob.length), 8);
  return [preamble, header, blob, await checksum(Buffer.concat([preamble, header]), blob)];
}

/** The blob's part is computed in a thread: hundreds of megabytes would stop all streams here. */
async function checksum(before: Uint8Array, blob: Uint8Array): Promise<Buffer> {
  const ofBlob = await webcrypto.subtle.digest("SHA-256", blob);
  return createHash("sha256").update(before).update(new Uint8Array(ofBlob)).digest();
}

export function readPreamble(bytes: Buffer): Read<{ headerBytes: number; fileBytes: number }> {
  if (bytes.length < preambleBytes) return refused("it is cut off");
  if (!bytes.subarray(0, 4).equals(magic)) return refused("it is no chunk cache");
  const headerBytes = bytes.readUInt32LE(4);
  const blobBytes = Number(bytes.readBigUInt64LE(8));
  if (headerBytes > longestHeader || !Number.isSafeInteger(blobBytes)) return refused("its lengths are impossible");
  return { ok: true, value: { headerBytes, fileBytes: preambleBytes + headerBytes + blobBytes + digestBytes } };
}

/** `key`: under which the file stands. */
export function readHeader(bytes: Buffer, format: string, key: string): Read<KvEntry> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(bytes.toString("utf8"));
  } catch {
    return refused("its header is no JSON");
  }
  const fields = typeof parsed === "object" && parsed !== null ? new Map(Object.entries(parsed)) : new Map();
  const entry = entryOf(fields);
  if (entry === undefined) return refused("its header is not one of a chunk cache");
  if (fields.get("format") !== format) return refused("it was made by another model or another setting");
  if (entry.key !== key) return refused("it stands under another key");
  return { ok: true, value: entry };
}

/** The whole file, checked against its checksum and the entry that it is read for. */
export async function readFileBytes(
  bytes: Buffer,
  format: string,
  key: string,
): Promise<Read<{ entry: KvEntry; blob: Uint8Array }>> {
  const lengths = readPreamble(bytes);
  if (!lengths.ok) return lengths;
  const { headerBytes, fileBytes } = lengths.value;
  if (bytes.length !== fileBytes) return refused(`it has ${bytes.length} bytes and should have ${fileBytes}`);
  const end = fileBytes - digestBytes;
  const blobStart = preambleBytes + headerBytes;
  const blob = new Uint8Array(bytes.buffer, bytes.byteOffset + blobStart, end - blobStart);
  if (!(await checksum(bytes.subarray(0, blobStart), blob)).equals(bytes.subarray(end)))
    return refused("its checksum is wrong");
  const header = readHeader(bytes.subarray(preambleBytes, blobStart), format, key);
  if (!header.ok) return header;
  if (blob.length !== header.value.bytes) return refused("its header counts other bytes");
  return { ok: true, value: { entry: header.value, blob } };
}

function entryOf(fields: ReadonlyMap<string, unknown>): KvEntry | undefined {
  const [key, chunk, convention, prefix] = ["key", "chunk", "convention", "prefix"].map((name) => fields.get(name));
  const [tokens, bytes, createdAt] = ["tokens", "bytes", "createdAt"].map((name) => fields.get(name));
  if (typeof key !== "string" || !isKey(key) || typeof chunk !== "string" || !isKey(chunk)) return undefined;
  if (!isConvention(convention) || !Array.isArray(prefix) || !prefix.every(isPrefixChunk)) return undefined;
  if (!isCount(tokens) || !isCount(bytes) || !isCount(createdAt)) return undefined;
  const entry = { key, chunk, convention, prefix, tokens, bytes, createdAt };
  const impact = fields.get("impact");
  if (impact === undefined) return entry;
  return isImpact(impact, prefix.length, tokens) ? { ...entry, impact } : undefined;
}

function isImpact(value: unknown, prefix: number, tokens: number): value is Impact {
  if (typeof value !== "object" || value === null) return false;
  const { cci, inter, ranking } = value as Partial<Record<keyof Impact, unknown>>;
  const isScore = (one: unknown): one is number => Number.isFinite(one) && Number(one) >= 0;
  if (!isScore(cci) || cci > 1 || !Array.isArray(inter) || !Array.isArray(ranking)) return false;
  if (inter.length !== prefix || !inter.every(isScore) || ranking.length !== tokens) return false;
  return ranking.every((token) => isCount(token) && token < tokens) && new Set(ranking).size === tokens;
}

const isConvention = (value: unknown): value is Convention => conventions.some((known) => known === value);
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isPrefixChunk = (value: unknown): value is PrefixChunk =>
  typeof value === "object" &&
  value !== null &&
  "chunk" in value &&
  typeof value.chunk === "string" &&
  "tokens" in value &&
  isCount(value.tokens);
