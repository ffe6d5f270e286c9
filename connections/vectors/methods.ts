// What the FAISS worker can do. An index is named by a number that the caller chose.
import type { Neighbour } from "./port.ts";

export interface FaissMethods {
  /** Makes an empty index. */
  open(what: { index: number; dimension: number }): void;
  drop(index: number): void;
  /** Vectors one after the other; gives the new size. Adds or replaces. */
  add(what: { index: number; ids: readonly string[]; vectors: Float32Array }): number;
  /** Gives the new size. */
  remove(what: { index: number; ids: readonly string[] }): number;
  /** One list a query, each of at most k. */
  search(what: { index: number; queries: Float32Array; k: number }): Neighbour[][];
}
