// How the bytes for kept answers and for examples are split.
import { z } from "zod";
import { milliseconds } from "./common.ts";

export const memory = z.strictObject({
  /**
   * fixed: cache.budgetBytes and curate.evict.budgetBytes as they are. learnt: both together are
   * one budget, whose split learn moves to where bytes save more (policy `budget`).
   */
  budget: z.enum(["fixed", "learnt"]).default("fixed"),
  /** Time between two looks at the split. */
  everyMs: milliseconds.default(3_600_000),
  /** Share of all bytes that each of the two keeps. */
  floor: z.number().min(0).max(0.5).default(0.05),
  /** Share of all bytes that moves at once. */
  step: z.number().min(0.001).max(0.25).default(0.05),
});

/** The split that the configuration names. */
export const fixedSplit = (config: {
  cache: { budgetBytes: number };
  curate: { evict: { budgetBytes: number } };
}): { responses: number; examples: number } => ({
  responses: config.cache.budgetBytes,
  examples: config.curate.evict.budgetBytes,
});
