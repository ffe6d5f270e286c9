// The log that the ladder is computed from: what every arm answered to every request, and the CPU
// time that it took. One row an answer, appended as soon as it is there, so that a run that was
// broken off goes on.
import { appendFile } from "node:fs/promises";
import type { Cpu } from "../support/overhead.ts";
import { readAppended } from "../support/samples.ts";

export const armNames = ["smol-5", "half-5", "large-0", "large-5"] as const;
export type ArmName = (typeof armNames)[number];

/** And the answer of the nearest example as it stands, which asks no model. */
export const routedNames = [...armNames, "reuse"] as const;

/** What an answer was worth and what it took; no text. */
export interface Row {
  /** Place of the request in the sample. */
  item: number;
  arm: ArmName;
  /** cold: the request's examples were not in the arm's caches; warm: it was asked before. */
  caches: "cold" | "warm";
  /** Token F1 against the reference that it comes closest to. */
  quality: number;
  /** The same of the answer of the nearest example; null for an arm that was shown none. */
  copy: number | null;
  /**
   * CPU seconds from one answer to the next, by process: the arms' models, ours (stages, embedder,
   * index), the servers (Kafka, registry, ClickHouse).
   */
  cpu: Cpu;
  firstTokenMs: number | null;
  usage: { prompt: number; linked: number; recomputed: number; prefilled: number; completion: number };
  /** The router's context for this arm. */
  context: number[];
}

export interface SavedRow extends Row {
  /** As the model gave it. */
  text: string;
  /** Commit of the code that asked. */
  commit: string | null;
}

export const keyOf = ({ item, arm, caches }: Pick<Row, "item" | "arm" | "caches">): string =>
  `${item} ${arm} ${caches}`;

/** The newest row of each answer. */
export async function readLog<R extends Row>(file: string): Promise<Map<string, R>> {
  const rows = await readAppended<R>(file);
  return new Map(rows.map((row) => [keyOf(row), row]));
}

export const appendRow = (file: string, row: SavedRow): Promise<void> => appendFile(file, `${JSON.stringify(row)}\n`);
