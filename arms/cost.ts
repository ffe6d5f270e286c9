// What an answer costs, and how expensive each arm is relative to the others (C_i of
// docs/design/routing.md, Cost).
import type { ArmConfig } from "../config/schema.ts";
import type { Usage } from "../schemas/types.ts";

const million = 1_000_000;
// An arm's price is taken at this mix of tokens: prompts with examples are long, answers short.
const promptShare = 0.75;

/** In the prices' currency, which are per million tokens. Linked tokens cost as prompt tokens. */
export function answerCost(usage: Pick<Usage, "prompt" | "completion">, prices: ArmConfig["prices"]): number {
  return (usage.prompt * prices.prompt + usage.completion * prices.completion) / million;
}

/** C_i, [0, 1]: relative to the most expensive arm, or as configured; 0 without prices. */
export function normalisedCosts(arms: readonly ArmConfig[]): Map<string, number> {
  const prices = arms.map((arm) => promptShare * arm.prices.prompt + (1 - promptShare) * arm.prices.completion);
  const highest = Math.max(0, ...prices);
  return new Map(
    arms.map((arm, index) => [arm.name, arm.cost ?? (highest === 0 ? 0 : (prices[index] ?? 0) / highest)]),
  );
}
