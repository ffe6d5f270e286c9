// One arm's examples, by what the request tries (explore.ts) and what the arm has in its caches
// (prefer.ts).
import type { Random } from "../../algorithms/numeric/random.ts";
import { bestLast, ordered, type ExampleOrder } from "../../algorithms/selection/example-order.ts";
import type { PrefixCandidate } from "../../algorithms/selection/live-prefixes.ts";
import type { ChooseLimits, Chosen, Rated, TrialDraw } from "./choose.ts";
import type { drawOrder } from "./explore.ts";
import { choosePreferringCached, choosePreferringPrefix } from "./prefer.ts";

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
