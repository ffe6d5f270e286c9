// Nearest vectors by inner product of unit vectors; keys are the pool's. Implementations: faiss.ts,
// exact.ts, with one contract.testing.ts.

export interface Neighbour {
  key: number;
  similarity: number;
}

export interface IndexFigures {
  kind: "exact" | "ivf";
  size: number;
  lists: number;
  probes: number;
  /** Mean recall of the probes since the last swap or change of `probes`; null before the first. */
  recall: number | null;
  recallSamples: number;
  /** Another index is being built beside this one. */
  building: boolean;
  /** Times that a newly built index replaced the old one. */
  swaps: number;
}

/** Figures of an index that compares every vector and never did otherwise. */
export const exactFigures = (size: number): IndexFigures => ({
  kind: "exact",
  size,
  lists: 0,
  probes: 0,
  recall: null,
  recallSamples: 0,
  building: false,
  swaps: 0,
});

/** Calls may be concurrent; each sees the changes awaited before it. */
export interface VectorIndex {
  /** Adds or replaces. Row-major, keys.length x dimension. VectorError for wrong input. */
  add(keys: Uint32Array, vectors: Float32Array): Promise<void>;
  /** Unknown keys are ignored. */
  remove(keys: Uint32Array): Promise<void>;
  search(vector: Float32Array, k: number): Promise<Neighbour[]>;
  figures(): IndexFigures;
  /** One file with checksum, version, dimension and note: written, synced, renamed. */
  save(file: string, note: string): Promise<void>;
  close(): Promise<void>;
}

/** Opens any number of indexes of one dimension over one shared owner. */
export interface VectorIndexes {
  readonly kind: "faiss" | "exact";
  open(): VectorIndex;
  /** From a file of save(). VectorError bad_snapshot: missing, cut, changed, incompatible. */
  restore(file: string): Promise<{ index: VectorIndex; note: string }>;
  /** Closes the owner; every index with it. */
  close(): Promise<void>;
}

export type VectorErrorCode = "wrong_dimension" | "not_finite" | "index_unavailable" | "bad_snapshot";

export class VectorError extends Error {
  constructor(
    readonly code: VectorErrorCode,
    message: string,
  ) {
    super(message);
    this.name = "VectorError";
  }
}
