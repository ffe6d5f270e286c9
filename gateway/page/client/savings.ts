// What the answers would have cost at one arm: its price per token, times their tokens without
// examples, which it might not have been shown. Cache hits count with the cost they avoided.
import type { Overview } from "../data/types/overview.ts";

type Priced = Pick<Overview, "arms" | "now">;

const priceOf = ({ arms }: Pick<Priced, "arms">, name: string): number | null => {
  const arm = arms.find((one) => one.arm === name);
  return arm === undefined || arm.generatedTokens === 0 ? null : arm.generatedCost / arm.generatedTokens;
};

/** The arm that was picked; else the one with the most expensive tokens. */
export function baselineOf(found: Pick<Priced, "arms">, picked: string): string | undefined {
  if (found.arms.some(({ arm }) => arm === picked && arm !== "")) return picked;
  const priced = found.arms.flatMap(({ arm }) => {
    const price = arm === "" ? null : priceOf(found, arm);
    return price === null ? [] : [{ arm, price }];
  });
  return priced.sort((one, other) => other.price - one.price)[0]?.arm;
}

/** null: the arm generated nothing, so its price is unknown. part: share saved, at most 1. */
export function saved(found: Priced, baseline: string): { saved: number; whole: number; part: number } | null {
  const price = priceOf(found, baseline);
  if (price === null) return null;
  const others = found.arms.filter(({ arm }) => arm !== baseline);
  const own = found.arms.find(({ arm }) => arm === baseline)?.generatedCost ?? 0;
  const whole = own + price * others.reduce((sum, { tokens }) => sum + tokens, 0) + found.now.savedCost;
  const gain = whole - found.now.cost;
  return { saved: gain, whole, part: whole === 0 ? 0 : gain / whole };
}
