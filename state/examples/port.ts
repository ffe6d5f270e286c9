// The examples that a process holds: texts, figures and vectors by id, and the nearest of a domain.
// Fed by partitions of the compacted topic `examples`; an example is seen only by requests of its
// own sharing domain. What a partition brought is kept with its offset, so that a process started
// again reads only the tail.
import type { ExampleTraits } from "../../algorithms/selection/example-traits.ts";
import type { Example } from "../../schemas/types.ts";
import type { IndexFigures } from "../vectors/port.ts";

/** As it is held: the vector stands apart. */
export type HeldExample = Omit<Example, "embedding" | "embeddingModel">;

export interface Candidate {
  /** Shared with other searches, like the vector: not to be changed. */
  example: Readonly<HeldExample>;
  /** Cosine, [-1, 1]. */
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

/** An example that the pool can't hold, and why. */
export interface RefusedExample {
  id: string;
  reason: string;
}

export interface PoolFigures {
  examples: number;
  domains: number;
  /** Those that wait for their new embedding. */
  pending: number;
  /**
   * Records whose checksum was wrong since the store was made: left out, and read again from the
   * topic at the next start.
   */
  damaged: number;
  /** Times that the vector indexes were built again because their owner died. */
  rebuilds: number;
  /** Figures of every domain that has an index, the largest first; at most 100. */
  indexes: { domain: string; figures: IndexFigures }[];
}

/** What the topic says, partition by partition. */
export interface PoolPartitions {
  /**
   * The offset from which this partition has to be read on; null: it is not held, read it from its
   * beginning.
   */
  position(partition: number): bigint | null;
  /**
   * What a partition says, in its order; `next` is the offset after it, kept together with the
   * changes. A refused example (NaN, wrong size, foreign tenant) is returned, never held; one
   * embedded by another model is embedded again in the background and found once that is done. An
   * example that several partitions brought is gone when the last of them says so. No changes are
   * welcome: they keep `next`.
   */
  apply(partition: number, changes: readonly ExampleChange[], next: bigint): Promise<RefusedExample[]>;
  /**
   * Forgets what only this partition brought, and its position: also what to do when that position
   * is not on the topic.
   */
  release(partition: number): Promise<void>;
}

/** Changes of a process that writes to the topic itself. */
export interface PoolChanges {
  /**
   * Ahead of the topic, by who wrote it there: held until the topic says otherwise, or the process
   * ends.
   */
  upsert(examples: readonly Example[]): Promise<RefusedExample[]>;
  remove(ids: readonly string[]): Promise<void>;
}

export interface ExamplePool extends PoolPartitions, PoolChanges {
  /**
   * The k nearest unexpired examples of the domain, nearest first. `now` in milliseconds since the
   * epoch. Rejects with VectorError index_unavailable.
   */
  nearest(domain: string, vector: Float32Array, k: number, now: number): Promise<Candidate[]>;
  get(id: string): HeldExample | undefined;
  /** Whether the domain has an example, expired or not. */
  holds(domain: string): boolean;
  size(): number;
  figures(): PoolFigures;
  close(): Promise<void>;
}

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
