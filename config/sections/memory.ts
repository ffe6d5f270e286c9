// How the bytes for kept answers, for examples and for chunk caches are split.
import { z } from "zod";
import type { ArmConfig } from "./arms.ts";
import { milliseconds } from "./common.ts";

export const memory = z.strictObject({
  /**
   * fixed: cache.budgetBytes and curate.evict.budgetBytes as they are. learnt: both together are
   * one byte budget, whose split learn moves to where bytes save more (policy `byte-budget`).
   */
  byteBudget: z.enum(["fixed", "learnt"]).default("fixed"),
  /**
   * learnt: whether chunk caches on disk (linked.diskBytes of llama arms that link) share the
   * budget as well. A byte of disk then counts as one of memory.
   */
  caches: z.boolean().default(false),
  /** Time between two looks at the split. */
  everyMs: milliseconds.default(3_600_000),
  /** Share of all bytes that each of them keeps. */
  floor: z.number().min(0).max(0.5).default(0.05),
  /** Share of all bytes that moves at once. */
  step: z.number().min(0.001).max(0.25).default(0.05),
});

interface Budgeted {
  memory: Pick<z.infer<typeof memory>, "byteBudget" | "caches">;
  cache: { budgetBytes: number };
  curate: { evict: { budgetBytes: number } };
  arms: readonly ArmConfig[];
}

/** The split that the configuration names. */
export const fixedSplit = ({ memory: { byteBudget, caches }, cache, curate, arms }: Budgeted) => ({
  responses: cache.budgetBytes,
  examples: curate.evict.budgetBytes,
  /** By arm; of none where they have budgets of their own. */
  caches: Object.fromEntries(
    arms.flatMap((arm) =>
      byteBudget === "learnt" && caches && arm.type === "llama" && arm.linked.policy !== "full"
        ? [[arm.name, arm.linked.diskBytes]]
        : [],
    ),
  ) as Record<string, number>,
});
