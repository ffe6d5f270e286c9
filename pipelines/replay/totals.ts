// What a run has spent and come to so far.
import type { ExampleReplayOutcome, ExampleReplayResult } from "../../operators/example-replay/example-replay.ts";
import type { Spent } from "../../operators/example-replay/ranking.ts";

export type Outcomes = Partial<Record<ExampleReplayOutcome, number>>;

export type Totals = ReturnType<typeof createTotals>;

/** budget: tokens, and money in the prices' currency. */
export function createTotals(budget: { tokens: number; cost: number }) {
  const spent = { tried: 0, tokens: 0, cost: 0 };
  const outcomes: Outcomes = {};
  return {
    spent,
    outcomes,
    /** Whether the budget allows so much more. */
    affords: ({ tokens, cost }: { tokens: number; cost: number }): boolean =>
      spent.tokens + tokens < budget.tokens && spent.cost + cost < budget.cost,
    /** Takes over what earlier parts of the run spent. */
    resume: (earlier: Spent): void => void Object.assign(spent, earlier),
    add({ tokens, cost, outcome }: ExampleReplayResult): void {
      spent.tried++;
      spent.tokens += tokens;
      spent.cost += cost;
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    },
  };
}
