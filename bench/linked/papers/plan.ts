// What is measured in the papers' settings, question by question, so that a run that is stopped has
// all policies of the same questions.
import type { Policies } from "../measure.ts";
import type { Plan } from "../plan.ts";

export const modes = ["papers", "chunk-size", "alpha"] as const;
export type Mode = (typeof modes)[number];

/**
 * EPIC caches chunks alone; arms cache them behind the system prompt and one neighbour. What was
 * no better than these on eight questions is left out (bench/results/NOTES.md).
 */
const main: Policies = {
  alone: ["naive", "attnlink-16", "lego-16"],
  "context+system": [
    ...["naive", "attnlink-4", "attnlink-16", "lego-16", "last-1", "last-2", "blend-15"],
    ...["craft-0.1", "craft-0.3", "craft-0.5", "craft-1", "random@craft-0.3"],
  ],
};

/** EPIC's RQ4: the same text in chunks of other sizes; the share that is recomputed differs. */
const chunkSizes: readonly number[] = [128, 256, 512, 1_024];
const bySize: Policies = { "context+system": ["naive", "attnlink-4", "attnlink-16", "last-2"] };

/** Cache-Craft's sweep. */
const alphas: Policies = { "context+system": [0.1, 0.25, 0.5, 1, 2, 3].map((alpha) => `craft-${alpha}`) };

export function planOf(mode: Mode, questions: number): Plan {
  const workloads: readonly (readonly [string, Policies])[] =
    mode === "chunk-size"
      ? chunkSizes.map((size) => [`passages-${size}`, bySize] as const)
      : [["passages-512", mode === "alpha" ? alphas : main]];
  return {
    parts: Array.from({ length: questions }, (_, index) => index).flatMap((index) =>
      workloads.map(([workload, policies]) => ({ workload, index, policies })),
    ),
    prefix: false,
    throughput: [],
    loading: [],
  };
}
