// Searches that come while one is under way go together: one message instead of many.
import { errorOf } from "../../connections/errors.ts";
import { asCosine } from "./check.ts";
import type { NativeFound } from "./native.ts";
import type { Neighbour } from "./port.ts";

const searchAtOnce = 64;

interface Search {
  vector: Float32Array;
  k: number;
  resolve(found: Neighbour[]): void;
  reject(error: Error): void;
}

/** `run` gives one list a vector, of at most k. */
export function createSearchBatches(
  run: (vectors: readonly Float32Array[], k: number) => Promise<Neighbour[][]>,
): (vector: Float32Array, k: number) => Promise<Neighbour[]> {
  const waiting: Search[] = [];
  let searching = false;

  const searchWaiting = async (): Promise<void> => {
    if (searching) return;
    searching = true;
    for (let batch = waiting.splice(0, searchAtOnce); batch.length > 0; batch = waiting.splice(0, searchAtOnce)) {
      try {
        const found = await run(
          batch.map((search) => search.vector),
          Math.max(...batch.map((search) => search.k)),
        );
        batch.forEach((search, i) => search.resolve((found[i] ?? []).slice(0, search.k)));
      } catch (error) {
        for (const search of batch) search.reject(errorOf(error));
      }
    }
    searching = false;
  };
  return (vector, k) =>
    new Promise((resolve, reject) => {
      waiting.push({ vector, k, resolve, reject });
      void searchWaiting();
    });
}

export function joined(vectors: readonly Float32Array[], dimension: number): Float32Array {
  const all = new Float32Array(vectors.length * dimension);
  vectors.forEach((vector, i) => all.set(vector, i * dimension));
  return all;
}

/** What was found for one of so many queries. */
export function asNeighbours({ keys, similarities, counts }: NativeFound, query: number, queries: number): Neighbour[] {
  const from = (query * keys.length) / queries;
  return Array.from({ length: counts[query]! }, (_, i) => ({
    key: keys[from + i]!,
    similarity: asCosine(similarities[from + i]!),
  }));
}
