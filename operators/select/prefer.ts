// Prefers cached examples that are hardly less helpful: all shown lose at most the bonus each.
// Nothing unfit or below the threshold passes by it. Pure.
import { chooseExamples, type ChooseLimits, type Chosen, type Rated, type TrialDraw } from "./choose.ts";

export function choosePreferringCached(
  candidates: readonly Rated[],
  limits: ChooseLimits & { cachedBonus: number },
  draw: TrialDraw | null = null,
): Chosen {
  const { cachedBonus } = limits;
  const plain = chooseExamples(candidates, { ...limits, cachedBonus: 0 }, draw);
  if (!(cachedBonus > 0) || !candidates.some(({ cached }) => cached)) return plain;
  const preferring = chooseExamples(candidates, limits, draw);
  // One choice may have others in its train: what it says already, or has no room for any more.
  return helpfulnessOf(preferring) >= helpfulnessOf(plain) - cachedBonus * plain.examples.length ? preferring : plain;
}

const helpfulnessOf = ({ examples }: Chosen): number => examples.reduce((sum, { helpfulness }) => sum + helpfulness, 0);
