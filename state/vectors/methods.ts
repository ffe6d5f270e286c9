// What the FAISS worker can do. An index is named by a number that the caller chose.
import type { NativeFound } from "./native.ts";
import type { IndexFigures } from "./port.ts";
import type { IndexOptions } from "./tuning.ts";

export interface FaissInput {
  dimension: number;
  options: IndexOptions;
}

export interface FaissMethods {
  /** The worker's process and CPU features: the addon can be loaded. */
  hello(argument: null): { pid: number; products: "avx2" | "portable" };
  /** Never ends; its events are WatchEvent. */
  watch(argument: null): void;
  /** Makes an empty index. */
  open(index: number): void;
  /** Fails with code bad_snapshot, and makes none then. */
  restore(what: { index: number; file: string }): { note: string; figures: IndexFigures };
  drop(index: number): void;
  /** Vectors one after the other; gives the new size. Adds or replaces. */
  add(what: { index: number; keys: Uint32Array; vectors: Float32Array }): number;
  /** Gives the new size. */
  remove(what: { index: number; keys: Uint32Array }): number;
  search(what: { index: number; queries: Float32Array; k: number }): NativeFound;
  save(what: { index: number; file: string; note: string }): void;
}

export type WatchEvent =
  { kind: "figures"; index: number; figures: IndexFigures } | { kind: "problem"; index: number; problem: string };
