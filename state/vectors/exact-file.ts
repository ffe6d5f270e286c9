// The file of an exact index: a line of JSON, keys, vectors, and the SHA-256 of it all.
import { createHash } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { messageOf } from "../../connections/errors.ts";
import { VectorError } from "./port.ts";

export interface ExactContent {
  note: string;
  keys: Uint32Array;
  vectors: Float32Array;
}

const format = "precedent-exact-index/1";
const hashBytes = 32;
const longestHeader = 1_048_576;

export async function writeExactFile(file: string, what: ExactContent & { dimension: number }): Promise<void> {
  const { dimension, note, keys, vectors } = what;
  const header = Buffer.from(`${JSON.stringify({ format, dimension, count: keys.length, note })}\n`);
  const bytes = Buffer.concat([header, asBytes(keys), asBytes(vectors)]);
  const beside = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}.tmp`;
  await mkdir(dirname(file), { recursive: true });
  try {
    const handle = await open(beside, "w");
    try {
      await handle.writeFile(bytes);
      await handle.writeFile(createHash("sha256").update(bytes).digest());
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(beside, file);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}

/** Rejects with VectorError bad_snapshot. */
export async function readExactFile(file: string, dimension: number): Promise<ExactContent> {
  const bad = (why: string): VectorError => new VectorError("bad_snapshot", `the index file ${file} ${why}`);
  const all = await readFile(file).catch((error: unknown) => {
    throw bad(`can't be read: ${messageOf(error)}`);
  });
  const end = all.subarray(0, longestHeader).indexOf("\n") + 1;
  const bytes = all.subarray(0, Math.max(0, all.length - hashBytes));
  if (end === 0 || !all.subarray(0, end).includes(format)) throw bad("is not one of this version");
  if (!createHash("sha256").update(bytes).digest().equals(all.subarray(bytes.length)))
    throw bad("is cut short or was changed: its checksum is another");
  const header = JSON.parse(bytes.toString("utf8", 0, end)) as { dimension: number; count: number; note: string };
  if (header.dimension !== dimension) throw bad(`holds ${header.dimension} numbers a vector, ${dimension} are wanted`);
  // Copied: what follows the header is not aligned.
  const content = Uint8Array.from(bytes.subarray(end)).buffer;
  return {
    note: header.note,
    keys: new Uint32Array(content, 0, header.count),
    vectors: new Float32Array(content, 4 * header.count, header.count * dimension),
  };
}

const asBytes = (numbers: Uint32Array | Float32Array): Uint8Array =>
  new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
