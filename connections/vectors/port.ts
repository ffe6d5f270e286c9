// Nearest examples by inner product of unit vectors. Implementations: faiss.ts, exact.ts; contract.ts is the test they share.

export interface Neighbour {
  id: string;
  /** Cosine, [-1, 1]. */
  similarity: number;
}

/** All calls may be made concurrently; each sees the additions and removals that were awaited before it. */
export interface VectorIndex {
  /** Adds or replaces. Vectors are copied; rejects with VectorError when one has the wrong dimension or is not finite. */
  add(entries: readonly { id: string; vector: Float32Array }[]): Promise<void>;
  /** Unknown ids are ignored. */
  remove(ids: readonly string[]): Promise<void>;
  /** At most k neighbours, nearest first. */
  search(vector: Float32Array, k: number): Promise<Neighbour[]>;
  size(): number;
  close(): Promise<void>;
}

/** Opens any number of indexes of one dimension over one shared owner. */
export interface VectorIndexes {
  readonly kind: "faiss" | "exact";
  open(): VectorIndex;
  /** Closes the owner; every index with it. */
  close(): Promise<void>;
}

/** code: wrong_dimension, not_finite, index_unavailable. */
export class VectorError extends Error {
  constructor(
    readonly code: "wrong_dimension" | "not_finite" | "index_unavailable",
    message: string,
  ) {
    super(message);
    this.name = "VectorError";
  }
}
