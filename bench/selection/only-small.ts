// bench -- selection --only small: the two adapters of the VectorIndex port on small pools, as a
// stage uses them: the exact index in this thread, our addon in a process of its own. Turn by turn
// on the same vectors and queries.
import { createExactIndexes } from "../../state/vectors/exact.ts";
import { createFaissIndexes } from "../../state/vectors/faiss.ts";
import type { VectorIndex, VectorIndexes } from "../../state/vectors/port.ts";
import { buildNative } from "../../tools/setup/build-native.ts";
import type { BenchContext, Measured } from "../benchmark.ts";
import { mean, quantile, significant } from "../support/statistics.ts";
import { clusteredVectors, dimension } from "./data.ts";
import { k } from "./ours.ts";

const sizes = [1_000, 10_000];
const queryCount = 200;

interface Taken {
  index: VectorIndex;
  addMs: number;
  searchMs: number[];
  /** CPU of this process per search: time taken from a stage's own thread. */
  cpuMs: number[];
  found: number[][];
}

export async function runSmall({ quick, note, progress, signal }: BenchContext): Promise<Measured> {
  const made = await buildNative(note);
  if (!made.built) throw new Error(made.reason);
  const opened: Record<string, VectorIndexes> = {
    exact: createExactIndexes(dimension),
    addon: await createFaissIndexes(dimension),
  };
  const rounds = quick ? 1 : 5;
  const rows = [];
  try {
    const bar = progress("adapters on small pools", sizes.length * rounds, "rounds");
    for (const [at, n] of sizes.entries()) {
      const draw = clusteredVectors(n, 11);
      const vectors = drawn(draw, n);
      const queries = drawn(draw, queryCount);
      const all = new Map<string, Taken>();
      for (const [name, indexes] of Object.entries(opened)) all.set(name, await filled(indexes, n, vectors));
      for (let round = 0; round < rounds; round++) {
        for (const taken of all.values()) await searchAll(taken, queries, signal);
        bar.update(at * rounds + round + 1);
      }
      const truth = all.get("exact")!.found;
      for (const [name, { addMs, searchMs, cpuMs, found, index }] of all) {
        rows.push({
          ...{ n, index: name, kind: index.figures().kind },
          add_ms_per_1000: significant((1_000 * addMs) / n),
          ...{ p50_ms: significant(quantile(searchMs, 0.5)), p99_ms: significant(quantile(searchMs, 0.99)) },
          cpu_here_ms: significant(mean(cpuMs)),
          recall_at_32: significant(mean(found.map((keys, i) => shareOf(keys, truth[i]!)))),
        });
        await index.close();
      }
    }
    bar.finish();
  } finally {
    for (const indexes of Object.values(opened)) await indexes.close();
  }
  return { part: "small", figures: { dimension, k, queries: queryCount, rounds, rows } };
}

function drawn(draw: (out: Float32Array, at: number) => void, count: number): Float32Array {
  const vectors = new Float32Array(count * dimension);
  for (let i = 0; i < count; i++) draw(vectors, i * dimension);
  return vectors;
}

async function filled(indexes: VectorIndexes, n: number, vectors: Float32Array): Promise<Taken> {
  const index = indexes.open();
  const began = performance.now();
  await index.add(
    Uint32Array.from({ length: n }, (_, key) => key),
    vectors.slice(),
  );
  const addMs = performance.now() - began;
  // Beyond 4,096 vectors the addon builds its clusters beside the index.
  const settled = (): boolean => !index.figures().building && (indexes.kind !== "faiss" || n <= 4_096 || isClustered());
  const isClustered = (): boolean => index.figures().kind === "ivf";
  while (!settled()) await new Promise((resolve) => setTimeout(resolve, 50));
  return { index, addMs, searchMs: [], cpuMs: [], found: [] };
}

async function searchAll(taken: Taken, queries: Float32Array, signal: AbortSignal): Promise<void> {
  taken.found = [];
  for (let i = 0; i < queryCount; i++) {
    signal.throwIfAborted();
    const query = queries.slice(i * dimension, (i + 1) * dimension);
    const cpu = process.cpuUsage();
    const began = performance.now();
    const found = await taken.index.search(query, k);
    taken.searchMs.push(performance.now() - began);
    const { user, system } = process.cpuUsage(cpu);
    taken.cpuMs.push((user + system) / 1_000);
    taken.found.push(found.map(({ key }) => key));
  }
}

const shareOf = (keys: readonly number[], truth: readonly number[]): number =>
  keys.filter((key) => truth.includes(key)).length / truth.length;
