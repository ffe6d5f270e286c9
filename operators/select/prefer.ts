// Prefers examples that an arm has cached, on their own or as a prefix. The shown examples lose at
// most the bonus each, on average. The bonus admits no example that is unfit or below the
// threshold. Pure.
import type { PrefixCandidate } from "../../algorithms/selection/live-prefixes.ts";
import { chooseExamples, type ChooseLimits, type Chosen, type Rated, type TrialDraw } from "./choose.ts";

export function choosePreferringCached(
  candidates: readonly Rated[],
  limits: ChooseLimits & { cachedBonus: number },
  draw: TrialDraw | null = null,
): Chosen {
  const { cachedBonus } = limits;
  const plain = chooseExamples(candidates, { ...limits, cachedBonus: 0 }, draw);
  if (!(cachedBonus > 0) || !candidates.some(({ cached }) => cached)) return plain;
  // One choice may have others in its train: what it says already, or has no room for any more.
  return better(plain, chooseExamples(candidates, limits, draw), cachedBonus);
}

/** longest: see LivePrefixes.longest. */
export function choosePreferringPrefix(
  candidates: readonly Rated[],
  limits: ChooseLimits & { prefixBonus: number },
  draw: TrialDraw | null,
  longest: (candidates: readonly PrefixCandidate[], count: number, loss: number) => string[],
): Chosen {
  const { prefixBonus } = limits;
  const plain = chooseExamples(candidates, { ...limits, cachedBonus: 0 }, draw);
  const count = plain.examples.length;
  if (!(prefixBonus > 0) || count === 0) return plain;
  const open = candidates.flatMap(({ example: { id }, helpfulness, unfit, tokens }) =>
    unfit === null && tokens <= limits.tokenBudget && helpfulness >= limits.threshold ? [{ id, helpfulness }] : [],
  );
  const first = new Set(longest(open, count, prefixBonus * count));
  if (first.size === 0) return plain;
  return better(plain, chooseExamples(candidates, { ...limits, first, cachedBonus: prefixBonus }, draw), prefixBonus);
}

const better = (plain: Chosen, preferring: Chosen, bonus: number): Chosen =>
  helpfulnessOf(preferring) >= helpfulnessOf(plain) - bonus * plain.examples.length ? preferring : plain;

const helpfulnessOf = ({ examples }: Chosen): number => examples.reduce((sum, { helpfulness }) => sum + helpfulness, 0);
