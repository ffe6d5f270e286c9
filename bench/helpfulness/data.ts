// nl2bash for the helpfulness benchmark: the training pairs as the pool, a fixed random sample of
// training requests that the helpfulness model learns from, a fixed random sample of development
// requests that everything is measured on, and the nearest candidates of both.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { dot } from "../../algorithms/selection/embedding.ts";
import type { BenchContext } from "../benchmark.ts";
import { embeddings } from "../loop/history.ts";
import { readLines, shuffled } from "../support/samples.ts";
import { dataFolder } from "../support/data-file.ts";

export interface Pair {
  request: string;
  response: string;
}

export interface Neighbour {
  /** Index of the pair in the pool. */
  index: number;
  /** Cosine. */
  similarity: number;
}

export interface Question {
  request: string;
  references: string[];
  vector: Float32Array;
  /**
   * The nearest of the pool, nearest first; never the pair that the question was taken from, nor
   * one of the same request.
   */
  candidates: Neighbour[];
}

export interface HelpfulnessData {
  pool: Pair[];
  /** Vectors of the pool's requests, unit length. */
  vectors: Float32Array[];
  /** In their fixed random order; what the helpfulness model learns from. */
  train: Question[];
  /**
   * Training requests too, those that come after `train` in that order: the helpfulness model never
   * sees them.
   */
  unseen: Question[];
  dev: Question[];
}

/** k1 of the specification. */
export const candidateCount = 32;
const seed = 20_261_121;

/**
 * The first `train` and `dev` of the samples, and `unseen` (none) more of the training set; throws
 * when the data is not there.
 */
export async function loadHelpfulnessData(
  context: Pick<BenchContext, "folder" | "progress" | "data">,
  count: { train: number; dev: number; unseen?: number },
): Promise<HelpfulnessData> {
  const folder = dataFolder();
  const files = { dev: context.data ?? join(folder, "nl2bash-dev.jsonl"), train: join(folder, "nl2bash-train.jsonl") };
  for (const needed of Object.values(files))
    if (!existsSync(needed))
      throw new Error(`${needed} is not there: set PRECEDENT_DATA to the folder that holds nl2bash`);
  const pool = await readLines<Pair>(files.train);
  const asked = await readLines<{ request: string; references: string[] }>(files.dev);
  const requests = (of: readonly { request: string }[]): string[] => of.map(({ request }) => request);
  const vectors = (await embeddings(requests(pool), context)).vectors.map(floats);
  const dev = shuffled(asked, seed).slice(0, count.dev);
  const devVectors = (await embeddings(requests(dev), context)).vectors.map(floats);
  const train = shuffled([...pool.keys()], seed).slice(0, count.train + (count.unseen ?? 0));
  const nearest = (request: string, vector: Float32Array): Neighbour[] =>
    vectors
      .map((other, index) => ({ index, similarity: dot(vector, other) }))
      .filter(({ index }) => pool[index]!.request !== request)
      .sort((one, other) => other.similarity - one.similarity)
      .slice(0, candidateCount);
  const trained = train.map((index): Question => {
    const { request, response } = pool[index]!;
    const vector = vectors[index]!;
    return { request, references: [response], vector, candidates: nearest(request, vector) };
  });
  return {
    pool,
    vectors,
    train: trained.slice(0, count.train),
    unseen: trained.slice(count.train),
    dev: dev.map(({ request, references }, i) => {
      const vector = devVectors[i]!;
      return { request, references, vector, candidates: nearest(request, vector) };
    }),
  };
}

const floats = (bytes: Buffer): Float32Array =>
  Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
