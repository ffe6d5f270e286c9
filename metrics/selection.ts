// What selection does, for dashboards: how many candidates there are, how many examples an arm is
// shown, why the others are not, and how often requests are used to learn.
import { Counter, Histogram } from "prom-client";
import { oncePerRegistry } from "./instruments.ts";

/** One request's selection, as far as it is counted. */
export interface CountedSelection {
  candidates: number;
  byArm: ReadonlyMap<
    string,
    {
      examples: readonly unknown[];
      /** Why they are shown, or why not. */
      settled: readonly { reason: string; candidate?: { cached?: boolean } }[];
      /** Candidates besides: there were enough before their turn came. */
      open: number;
      trial: object | null;
    }
  >;
  exploredThreshold: number | null;
}

export interface SelectionMetrics {
  count(selection: CountedSelection): void;
}

/** The same for the same registry. */
export const createSelectionMetrics = oncePerRegistry((registry): SelectionMetrics => {
  const registers = [registry];
  const candidates = new Histogram({
    name: "precedent_selection_candidates",
    help: "Candidates that the pool found for a request.",
    buckets: [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
    registers,
  });
  const shown = new Histogram({
    name: "precedent_selection_examples",
    help: "Examples that an arm would be shown for a request.",
    labelNames: ["arm"],
    buckets: [0, 1, 2, 3, 4, 5, 8, 16, 32, 64],
    registers,
  });
  const verdicts = new Counter({
    name: "precedent_selection_candidates_total",
    help:
      "Candidates by what became of them for an arm: shown, or why they were not. too_many: enough were " +
      "taken before their turn came, near-duplicates of those included.",
    labelNames: ["arm", "reason"],
    registers,
  });
  const cached = new Counter({
    name: "precedent_selection_cached_total",
    help: "Examples that an arm would be shown, by whether it has their caches at hand.",
    labelNames: ["arm", "cached"],
    registers,
  });
  const explored = new Counter({
    name: "precedent_selection_explored_total",
    help: "Requests from which selection learns: an example tried, or another threshold.",
    labelNames: ["kind"],
    registers,
  });
  for (const kind of ["trial", "threshold"]) explored.inc({ kind }, 0);
  return {
    count({ candidates: found, byArm, exploredThreshold }) {
      candidates.observe(found);
      for (const [arm, { examples, settled, open }] of byArm) {
        shown.observe({ arm }, examples.length);
        const reasons = new Map<string, number>();
        for (const { reason, candidate } of settled) {
          reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
          if (reason === "shown" || reason === "forced_in")
            cached.inc({ arm, cached: candidate?.cached === true ? "yes" : "no" });
        }
        if (open > 0) reasons.set("too_many", open);
        for (const [reason, count] of reasons) verdicts.inc({ arm, reason }, count);
      }
      if (exploredThreshold !== null) explored.inc({ kind: "threshold" });
      if ([...byArm.values()].some(({ trial }) => trial !== null)) explored.inc({ kind: "trial" });
    },
  };
});
