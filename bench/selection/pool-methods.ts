// What the process of pool-worker.ts is asked: to open a pool that was filled before, to search it,
// and what it holds then.
export interface PoolMethods {
  /** Resolves when it can be searched. */
  open(folder: string): { pid: number; indexPid: number; seconds: number };
  /** One query after the other: numbers of the k examples of each, milliseconds each. */
  search(what: { queries: Float32Array; k: number }): { numbers: Uint32Array; ms: Float64Array };
  /** Bytes after a collection: the JavaScript heap, and what it refers to outside of it. */
  heap(): { heap: number; external: number };
  close(): void;
}
