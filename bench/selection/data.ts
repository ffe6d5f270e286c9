// Vectors that lie as those of texts do: topics of some twenty texts, topics in wider fields, all
// of them with a common part, coordinates of falling variance, spreads that overlap. The constants
// were set so that a query's similarity to its 1st, 10th, 32nd, 100th and 1,000th neighbour of
// 11,249 (.83 .73 .64 .56 .40) is that of NL2Bash requests under all-MiniLM-L6-v2 (.86 .68 .60 .52
// .39). Kept as files.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { open, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { BenchContext } from "../benchmark.ts";

export const dimension = 384;
const queryCount = 2_000;

const perTopic = 20;
const decay = 0.5;
const weights = { common: 0.8, field: 1, topic: 1, text: 1.2 };

/**
 * Uniform in [0, 1), 32 bits a draw: a billion draws are needed, and splitmix64's big integers
 * would take minutes.
 */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * Gives the next vector of a collection of n, of unit length, into `out` at an offset. Repeatable
 * from the seed.
 */
export function clusteredVectors(n: number, seed: number): (out: Float32Array, at: number) => void {
  const random = mulberry32(seed);
  // Four uniform draws are normal enough, and quick.
  const normal = (): number => (random() + random() + random() + random() - 2) * Math.sqrt(3);
  const spectrum = Float64Array.from({ length: dimension }, (_, i) => (i + 1) ** -decay);
  const norm = Math.hypot(...spectrum);
  spectrum.forEach((value, i) => (spectrum[i] = value / norm));
  const draw = (): Float32Array => Float32Array.from(spectrum, (value) => value * normal());

  const topics = Math.ceil(n / perTopic);
  const common = draw();
  const fields = Array.from({ length: Math.ceil(Math.sqrt(topics)) }, draw);
  const centres = Array.from({ length: topics }, () => {
    const field = fields[Math.floor(random() * fields.length)]!;
    const topic = draw();
    return topic.map((value, i) => weights.common * common[i]! + weights.field * field[i]! + weights.topic * value);
  });
  return (out, at) => {
    // Small topics and large ones, tight and loose ones.
    const centre = centres[Math.floor(topics * random() * random())]!;
    const spread = weights.text * (0.25 + 1.5 * random());
    let sum = 0;
    for (let i = 0; i < dimension; i++) {
      const value = centre[i]! + spread * spectrum[i]! * normal();
      out[at + i] = value;
      sum += value * value;
    }
    const scale = 1 / Math.sqrt(sum);
    for (let i = 0; i < dimension; i++) out[at + i]! *= scale;
  };
}

export interface VectorFiles {
  n: number;
  /** n rows of `dimension` floats. */
  vectors: string;
  /** Rows from the same topics that are not among them. */
  queries: Float32Array;
}

/** From the files that an earlier run left, or made now. */
export async function generatedVectors(
  { folder, progress, signal }: Pick<BenchContext, "folder" | "progress" | "signal">,
  n: number,
): Promise<VectorFiles> {
  const vectors = join(folder, `generated-${n}.f32`);
  const queryFile = join(folder, `generated-${n}-queries.f32`);
  const size = existsSync(vectors) ? (await stat(vectors)).size : 0;
  if (size !== n * dimension * 4 || !existsSync(queryFile)) {
    const next = clusteredVectors(n, 1);
    const bar = progress(`generating ${n} vectors (kept for later runs)`, n, "vectors");
    const handle = await open(`${vectors}.new`, "w");
    const atOnce = 5_000;
    for (let done = 0; done < n; done += atOnce) {
      signal.throwIfAborted();
      const rows = new Float32Array(Math.min(atOnce, n - done) * dimension);
      for (let at = 0; at < rows.length; at += dimension) next(rows, at);
      await handle.writeFile(new Uint8Array(rows.buffer));
      bar.update(done);
    }
    await handle.close();
    const queries = new Float32Array(queryCount * dimension);
    for (let at = 0; at < queries.length; at += dimension) next(queries, at);
    await writeFile(queryFile, new Uint8Array(queries.buffer));
    await rename(`${vectors}.new`, vectors);
    bar.finish();
  }
  return { n, vectors, queries: await readFloats(queryFile) };
}

/** Given vectors as the same kind of files. */
export async function givenVectors(
  folder: string,
  name: string,
  rows: readonly Buffer[],
  queries: readonly Buffer[],
): Promise<VectorFiles> {
  const all = Buffer.concat(rows);
  const digest = createHash("sha256").update(all).digest("hex").slice(0, 12);
  const vectors = join(folder, `${name}-${digest}.f32`);
  if (!existsSync(vectors)) await writeFile(vectors, all);
  return { n: rows.length, vectors, queries: floatsOf(Buffer.concat(queries)) };
}

/** Rows from..to of a file of vectors. */
export async function readRows(file: string, from: number, to: number): Promise<Float32Array<ArrayBuffer>> {
  const rows = new Float32Array((to - from) * dimension);
  const handle = await open(file);
  try {
    await handle.read(new Uint8Array(rows.buffer), 0, rows.byteLength, from * dimension * 4);
  } finally {
    await handle.close();
  }
  return rows;
}

const floatsOf = (bytes: Buffer): Float32Array => new Float32Array(Uint8Array.from(bytes).buffer);
const readFloats = async (file: string): Promise<Float32Array> => floatsOf(await readFile(file));

export const rowsIn = (rows: Float32Array): number => rows.length / dimension;

/** Row i of rows. */
export const row = (rows: Float32Array, i: number): Float32Array => rows.slice(i * dimension, (i + 1) * dimension);
