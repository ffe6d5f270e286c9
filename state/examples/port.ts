// A process's examples: texts, figures, vectors, nearest of a domain. Fed by partitions of
// `examples`, kept with their offsets; seen only by requests of their domain.
import type { ExampleTraits } from "../../algorithms/selection/example-traits.ts";
import type { Example } from "../../schemas/types.ts";
import type { IndexFigures } from "../vectors/port.ts";

/** As it is held: the vector stands apart. */
export type HeldExample = Omit<Example, "embedding" | "embeddingModel">;

export interface Candidate {
  /** Shared with other searches, like the vector: not to be changed. */
  example: Readonly<HeldExample>;
  similarity: number;
  /** Vector of unit length, by the embedder of this pool. */
  vector: Float32Array;
  /** Absent, or null where its texts are long: they are not made yet. */
  traits?: ExampleTraits | null;
}

export interface ExampleChange {
  id: string;
  domain: string;
  /** null: the example is gone. */
  value: Example | null;
}

export interface RefusedExample {
  id: string;
  reason: string;
}

export interface PoolFigures {
  examples: number;
  domains: number;
  /** Those that wait for their new embedding. */
  pending: number;
  /** Records with a wrong checksum since the store was made. */
  damaged: number;
  /** Times that the vector indexes were built again because their owner died. */
  rebuilds: number;
  /** Figures of every domain that has an index, the largest first; at most 100. */
  indexes: { domain: string; figures: IndexFigures }[];
}

export interface PoolPartitions {
  /** Next offset of this partition; null: not held, read it whole. */
  position(partition: number): bigint | null;
  /**
   * Changes of a partition in order; `next` is kept with them. Refused ones (NaN, size, tenant) are
   * returned; other models' are embedded again. One that several brought goes with the last.
   */
  apply(partition: number, changes: readonly ExampleChange[], next: bigint): Promise<RefusedExample[]>;
  /** Forgets what only this partition brought, and its position. */
  release(partition: number): Promise<void>;
}

/** Changes of a process that writes to the topic itself. */
export interface PoolChanges {
  /** Ahead of the topic, by its writer: until the topic says otherwise. */
  upsert(examples: readonly Example[]): Promise<RefusedExample[]>;
  remove(ids: readonly string[]): Promise<void>;
}

/** What selection reads. */
export interface ExampleSearch {
  /** The k nearest unexpired, nearest first; now: ms. VectorError index_unavailable. */
  nearest(domain: string, vector: Float32Array, k: number, now: number): Promise<Candidate[]>;
  get(id: string): HeldExample | undefined;
  holds(domain: string): boolean;
  size(): number;
  figures(): PoolFigures;
  close(): Promise<void>;
}

export interface ExamplePool extends PoolPartitions, PoolChanges, ExampleSearch {}

/** code: folder_in_use. */
export class PoolError extends Error {
  constructor(
    readonly code: "folder_in_use",
    message: string,
  ) {
    super(message);
    this.name = "PoolError";
  }
}
