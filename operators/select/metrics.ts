// What selection does, for dashboards: how many candidates there are, how many examples an arm is
// shown, why the others are not, and how often requests are used to learn.
import { Counter, Histogram } from "prom-client";
import { oncePerRegistry, countersOf } from "../../runtime/metrics/instruments.ts";

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
      order: { order: string };
    }
  >;
  exploredThreshold: number | null;
}

/** What became of an arm's candidates since the metrics were last collected. */
interface Tally {
  byReason: Map<string, number>;
  cached: number;
  uncached: number;
}

export const createSelectionMetrics = oncePerRegistry((registry) => {
  const registers = [registry];
  // A labelled counter makes a text of its labels to find its number: too much for every candidate.
  const tallies = new Map<string, Tally>();
  const tallyOf = (arm: string): Tally => {
    let tally = tallies.get(arm);
    if (tally === undefined) tallies.set(arm, (tally = { byReason: new Map(), cached: 0, uncached: 0 }));
    return tally;
  };
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
  new Counter({
    name: "precedent_selection_candidates_total",
    help:
      "Candidates by what became of them for an arm: shown, or why they were not. too_many: enough were " +
      "taken before their turn came, near-duplicates of those included.",
    labelNames: ["arm", "reason"],
    registers,
    collect() {
      for (const [arm, { byReason }] of tallies) {
        for (const [reason, count] of byReason) this.inc({ arm, reason }, count);
        byReason.clear();
      }
    },
  });
  new Counter({
    name: "precedent_selection_cached_total",
    help: "Examples that an arm would be shown, by whether it has them cached.",
    labelNames: ["arm", "cached"],
    registers,
    collect() {
      for (const [arm, tally] of tallies) {
        if (tally.cached > 0) this.inc({ arm, cached: "yes" }, tally.cached);
        if (tally.uncached > 0) this.inc({ arm, cached: "no" }, tally.uncached);
        tally.cached = tally.uncached = 0;
      }
    },
  });
  const explored = countersOf(registry)(
    "precedent_selection_explored_total",
    "Requests from which selection learns: an example tried, another threshold, or a random order.",
    ["kind"],
  );
  for (const kind of ["trial", "threshold", "order"]) explored.inc({ kind }, 0);
  return {
    count({ candidates: found, byArm, exploredThreshold }: CountedSelection): void {
      candidates.observe(found);
      let isTried = false;
      let isRandom = false;
      for (const [arm, { examples, order, settled, open, trial }] of byArm) {
        shown.observe({ arm }, examples.length);
        const tally = tallyOf(arm);
        const add = (reason: string, count: number): void => {
          tally.byReason.set(reason, (tally.byReason.get(reason) ?? 0) + count);
        };
        for (const { reason, candidate } of settled) {
          add(reason, 1);
          if (reason !== "shown" && reason !== "forced_in") continue;
          if (candidate?.cached === true) tally.cached++;
          else tally.uncached++;
        }
        if (open > 0) add("too_many", open);
        isTried ||= trial !== null;
        isRandom ||= order.order === "random";
      }
      if (exploredThreshold !== null) explored.inc({ kind: "threshold" });
      if (isTried) explored.inc({ kind: "trial" });
      if (isRandom) explored.inc({ kind: "order" });
    },
  };
});
