// What the calls of models take and cost, by arm: an arm has few names, a tenant would have many.
// Counted when a call ends, so that a call which a crash makes happen twice is spent twice.
import { Histogram } from "prom-client";
import type { Usage } from "../../schemas/types.ts";
import { oncePerRegistry, countersOf } from "./instruments.ts";

const kinds = ["prompt", "linked", "prefilled", "cached", "cacheWrite", "completion", "reasoning"] as const;
type Kind = (typeof kinds)[number];

const none: Readonly<Record<Kind, number>> = {
  ...{ prompt: 0, linked: 0, prefilled: 0, cached: 0, cacheWrite: 0, completion: 0, reasoning: 0 },
};

export interface CallFigures {
  usage: Pick<Usage, Kind>;
  cost: number;
  /** From the call on; null: the arm does not stream. */
  firstTokenMs: number | null;
}

export type CallMetrics = ReturnType<typeof createCallMetrics>;

// From a small model whose prompt is cached to a large one under load.
const secondsBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

export const createCallMetrics = oncePerRegistry((registry) => {
  const counter = countersOf(registry);
  const firstToken = new Histogram({
    name: "precedent_first_token_seconds",
    help: "From the call of an arm to the first token of its answer, its queue included; of arms that stream.",
    labelNames: ["arm"],
    buckets: secondsBuckets,
    registers: [registry],
  });
  const cost = counter("precedent_cost_total", "What the answers of an arm cost, in the currency of the prices.", [
    "arm",
  ]);
  const tokens = counter(
    "precedent_tokens_total",
    "Tokens of the calls that an arm answered, by kind: prompt; of those linked (from KV caches of ours), prefilled (computed), cached (by the endpoint) and cacheWrite (to its cache); completion; of those reasoning.",
    ["arm", "kind"],
  );
  const add = (arm: string, { usage, cost: spent }: Pick<CallFigures, "usage" | "cost">): void => {
    cost.inc({ arm }, spent);
    for (const kind of kinds) tokens.inc({ arm, kind }, usage[kind]);
  };
  return {
    /** The arm is there: its counters show as 0 before it is first called. */
    opened: (arm: string): void => add(arm, { usage: none, cost: 0 }),
    answered(arm: string, figures: CallFigures): void {
      add(arm, figures);
      if (figures.firstTokenMs !== null) firstToken.observe({ arm }, figures.firstTokenMs / 1_000);
    },
  };
});
