// Indexes in FAISS, all owned by one worker thread. Searches that come while one is under way go together in the next call, which
// costs a fraction each. When the worker dies its indexes are gone: every call then rejects with index_unavailable, for good, and
// whoever holds the vectors opens new ones (connections/pool does).
import { connectWorker, WorkerDied } from "../worker/rpc.ts";
import { checkCount, checkVector } from "./check.ts";
import type { FaissMethods } from "./methods.ts";
import { VectorError, type Neighbour, type VectorIndex, type VectorIndexes } from "./port.ts";

/** Vectors in one message: an addition never holds searches back for long. */
const addAtOnce = 500;
/** Searches in one call. */
const searchAtOnce = 64;

interface Search {
  vector: Float32Array;
  k: number;
  resolve(found: Neighbour[]): void;
  reject(error: Error): void;
}

/** Rejects with VectorError index_unavailable where the library was not built. One a process: two owners crash it at its end. */
export async function createFaissIndexes(dimension: number): Promise<VectorIndexes> {
  const worker = connectWorker<FaissMethods>({
    name: "faiss",
    entry: new URL("./worker.ts", import.meta.url),
    data: null,
  });
  const call: typeof worker.call = (method, argument, options) =>
    worker.call(method, argument, options).catch((error: unknown) => {
      throw error instanceof WorkerDied ? new VectorError("index_unavailable", error.message) : error;
    });
  // Shows that the library can be loaded and used, while a caller can still choose otherwise.
  await call("open", { index: 0, dimension }).catch(async (error: unknown) => {
    await worker.close();
    throw error;
  });
  let lastIndex = 0;

  function open(): VectorIndex {
    const index = ++lastIndex;
    const opened = call("open", { index, dimension });
    // Every later call fails with the same reason.
    opened.catch(() => undefined);
    const waiting: Search[] = [];
    let searching = false;
    let size = 0;

    const searchWaiting = async (): Promise<void> => {
      if (searching) return;
      searching = true;
      for (let batch = waiting.splice(0, searchAtOnce); batch.length > 0; batch = waiting.splice(0, searchAtOnce)) {
        const k = Math.max(...batch.map((search) => search.k));
        const queries = joined(batch.map((search) => search.vector));
        try {
          const found = await call("search", { index, queries, k }, { transfer: [queries.buffer] });
          batch.forEach((search, i) => search.resolve((found[i] ?? []).slice(0, search.k)));
        } catch (error) {
          for (const search of batch) search.reject(error instanceof Error ? error : new Error(String(error)));
        }
      }
      searching = false;
    };
    const joined = (vectors: readonly Float32Array[]): Float32Array<ArrayBuffer> => {
      const all = new Float32Array(vectors.length * dimension);
      vectors.forEach((vector, i) => all.set(vector, i * dimension));
      return all;
    };

    return {
      async add(entries) {
        for (const { id, vector } of entries) checkVector(dimension, vector, `the vector of ${id}`);
        const parts = Array.from({ length: Math.ceil(entries.length / addAtOnce) }, (_, i) =>
          entries.slice(i * addAtOnce, (i + 1) * addAtOnce),
        );
        await Promise.all(
          parts.map(async (part) => {
            const vectors = joined(part.map((entry) => entry.vector));
            const ids = part.map((entry) => entry.id);
            size = await call("add", { index, ids, vectors }, { transfer: [vectors.buffer] });
          }),
        );
      },
      async remove(ids) {
        size = await call("remove", { index, ids });
      },
      search: (vector, k) =>
        new Promise((resolve, reject) => {
          checkCount(k);
          checkVector(dimension, vector, "the query");
          waiting.push({ vector, k, resolve, reject });
          void searchWaiting();
        }),
      size: () => size,
      async close() {
        if (worker.alive) await call("drop", index);
      },
    };
  }

  return { kind: "faiss", open, close: () => worker.close() };
}
