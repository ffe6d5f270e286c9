// One arm's examples, by what the request tries (explore.ts) and what the arm has in its caches.
import type { Random } from "../../algorithms/numeric/random.ts";
import { bestLast, ordered, type ExampleOrder } from "../../algorithms/selection/example-order.ts";
import type { PrefixCandidate } from "../../algorithms/selection/live-prefixes.ts";
import { type ChooseLimits, type Chosen, type Rated, type TrialDraw, chooseExamples } from "./choose.ts";
import type { drawOrder } from "./explore.ts";

export interface ArmChoice {
  limits: ChooseLimits & { cachedBonus: number; prefixBonus: number };
  trial: TrialDraw | null;
  /** Order of the arm; absent: the most helpful last. */
  order: ExampleOrder | undefined;
  orderOf: ReturnType<typeof drawOrder>;
  random: Random;
  /** See LivePrefixes.longest. */
  longest: (among: readonly PrefixCandidate[], count: number, loss: number) => string[];
}

export function chooseForArm(
  rated: readonly Rated[],
  { limits, trial, order = bestLast.order, orderOf, random, longest }: ArmChoice,
): Chosen {
  const chosen =
    order === "shared_prefix"
      ? choosePreferringPrefix(rated, limits, trial, longest)
      : choosePreferringCached(rated, limits, trial);
  const drawn = orderOf(order);
  chosen.order = drawn;
  // They come in the order of best_last.
  if (drawn.order !== bestLast.order) {
    const first = drawn.order === "shared_prefix" ? longest(chosen.examples, chosen.examples.length, Infinity) : [];
    chosen.examples = ordered(chosen.examples, drawn.order, random, first);
  }
  return chosen;
}

/**
 * Prefers examples that an arm has cached. The shown ones lose at most the bonus each, on average;
 * no example is shown that is unfit or below the threshold.
 */
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
