// How far a log can speak for a target policy: the importance weights pi(a|x) / pi0(a|x) of what
// was chosen, and what they are worth (docs/off-policy.md, Weights).
import { decisionsOf, type LoggedChoices } from "./log.ts";

/** Logged probabilities below this are none: no log is long enough to show such an arm. */
export const leastSupport = 1e-9;

/** The unclipped weight of every decision. @param target its probability of every candidate */
export function importanceWeights(log: LoggedChoices, target: Float64Array): Float64Array {
  if (target.length !== log.logged.length)
    throw new RangeError(`${target.length} probabilities for ${log.logged.length} candidates`);
  return Float64Array.from(log.chosen, (candidate) => target[candidate]! / log.logged[candidate]!);
}

export interface Support {
  decisions: number;
  /** Effective sample size, (sum of w)^2 / sum of w^2. */
  effective: number;
  largestWeight: number;
  /** Share of the decisions whose weight exceeds the cap. */
  clipped: number;
  /** Share of the target's choices on arms without a logged probability. */
  unsupported: number;
}

export function supportOf(log: LoggedChoices, target: Float64Array, weights: Float64Array, cap: number): Support {
  const decisions = decisionsOf(log);
  let [sum, squares, largest, above] = [0, 0, 0, 0];
  for (const weight of weights) {
    sum += weight;
    squares += weight * weight;
    if (weight > largest) largest = weight;
    if (weight > cap) above++;
  }
  let supported = 0;
  for (let k = 0; k < target.length; k++) if (log.logged[k]! >= leastSupport) supported += target[k]!;
  return {
    decisions,
    effective: squares > 0 ? (sum * sum) / squares : 0,
    largestWeight: largest,
    clipped: decisions > 0 ? above / decisions : 0,
    unsupported: decisions > 0 ? Math.max(0, 1 - supported / decisions) : 0,
  };
}
