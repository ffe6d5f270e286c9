// The examples that a plan process knows: texts and figures by id, and the nearest of a domain.
// Fed by the compacted topic `examples`; an example is seen only by requests of its own sharing domain.
import type { Example } from "../../schemas/types.ts";

export interface Candidate {
  example: Example;
  /** Cosine, [-1, 1]. */
  similarity: number;
}

export interface ExamplePool {
  /** Adds or replaces. An example with a NaN or wrong-sized embedding, or of another embedding model, is refused (returned, with the reason), never added. */
  upsert(examples: readonly Example[]): Promise<{ id: string; reason: string }[]>;
  remove(ids: readonly string[]): Promise<void>;
  /** The k nearest unexpired examples of the domain, nearest first. `now` in milliseconds since the epoch. */
  nearest(domain: string, vector: Float32Array, k: number, now: number): Promise<Candidate[]>;
  /** The example as it is held; undefined when it is not. */
  get(id: string): Example | undefined;
  size(): number;
  close(): Promise<void>;
}
