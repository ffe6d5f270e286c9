// Our FAISS addon (native/faiss), typed; built by set-up, loaded by worker.ts alone.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const file = fileURLToPath(new URL("../../native/build/precedent-faiss.node", import.meta.url));

export const isFaissBuilt = (): boolean => existsSync(file);

export interface NativeFound {
  /** k slots a query, counts[query] of them filled; nearest first. k <= size. */
  keys: Uint32Array;
  similarities: Float32Array;
  counts: Uint32Array;
}

/** Methods throw or reject for wrong arguments or failures of FAISS. */
export interface NativeIndex {
  readonly size: number;
  /** 0: exact. */
  readonly lists: number;
  readonly bytes: number;
  /** Adds or replaces; searches made after it has resolved find them. */
  add(keys: Uint32Array, vectors: Float32Array): Promise<void>;
  remove(keys: Uint32Array): Promise<void>;
  /** At once, in this thread; queries one after the other. probes: lists that each looks into. */
  search(queries: Float32Array, k: number, probes: number): NativeFound;
  /** True nearest, and how many lists are nearer than theirs. Empty if rebuilt meanwhile. */
  probe(query: Float32Array, k: number): Promise<{ keys: Uint32Array; ranks: Uint32Array }>;
  /** Up to n stored vectors, spread evenly. */
  sample(n: number): Promise<Float32Array>;
  /** Builds another content of so many lists (0: exact) beside this one. */
  rebuild(lists: number, pointsPerList: number, iterations: number, seed: number): Promise<void>;
  save(file: string, note: string): Promise<void>;
  restore(file: string): Promise<string>;
  drop(): void;
}

export interface Native {
  Index: new (dimension: number) => NativeIndex;
  /** Lets builds under way end with an error: for the end of the process. */
  stopTraining(): void;
  /** false: portable loops, as where the processor has no AVX2. */
  useFastProducts(use: boolean): void;
  productsInUse(): "avx2" | "portable";
}

/** Throws when it was not built. */
export function loadNative(): Native {
  // The addon is what the interface above says; nothing can check that but its tests.
  return createRequire(import.meta.url)(file) as Native;
}
