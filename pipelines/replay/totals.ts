// What a run has spent and come to so far.
import type { ExampleReplayOutcome, ExampleReplayResult } from "../../operators/example-replay/example-replay.ts";
import type { Spent } from "../../operators/example-replay/ranking.ts";

export type Outcomes = Partial<Record<ExampleReplayOutcome, number>>;

export interface Totals {
  readonly spent: Spent;
  readonly outcomes: Outcomes;
  /** Whether the budget allows so much more. */
  affords(more: { tokens: number; cost: number }): boolean;
  /** Takes over what earlier parts of the run spent. */
  resume(spent: Spent): void;
  add(result: ExampleReplayResult): void;
}

/** budget: tokens, and money in the prices' currency. */
export function createTotals(budget: { tokens: number; cost: number }): Totals {
  const spent = { tried: 0, tokens: 0, cost: 0 };
  const outcomes: Outcomes = {};
  return {
    spent,
    outcomes,
    affords: ({ tokens, cost }) => spent.tokens + tokens < budget.tokens && spent.cost + cost < budget.cost,
    resume: (earlier) => void Object.assign(spent, earlier),
    add({ tokens, cost, outcome }) {
      spent.tried++;
      spent.tokens += tokens;
      spent.cost += cost;
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    },
  };
}
