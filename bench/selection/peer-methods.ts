// What is measured beside our index, each in a process of its own and called within it, so that no
// message is in its times.

/** flat: faiss::IndexFlatIP as Debian builds it, exact. */
export type PeerKind = "flat" | "hnswlib" | "usearch";

export interface Loaded {
  pid: number;
  /**
   * Seconds of the build, in this run or an earlier one, and of its CPU; null when only vectors are
   * copied (flat).
   */
  build: { seconds: number; cpuSeconds: number } | null;
  loadSeconds: number;
}

export interface PeerMethods {
  /**
   * Builds the index from a file of vectors and keeps it as a file, or takes the one kept. Events:
   * vectors added so far.
   */
  load(what: { kind: PeerKind; vectors: string; n: number; kept: string }): Loaded;
  /** Effort of a search; nothing for flat. */
  effort(ef: number): void;
  /** One query after the other; k keys each, milliseconds each. */
  search(what: { queries: Float32Array; k: number }): { keys: Uint32Array; ms: Float64Array };
}

/** Neighbours a node, candidates while building: the same for both graphs. */
export const graph = { connectivity: 16, expansionAdd: 100 };
