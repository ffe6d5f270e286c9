// Estimators of a target policy's value (docs/off-policy.md, Estimators): IPS, SNIPS (Swaminathan
// and Joachims 2015), DM, DR (Dudik et al. 2011), switch-DR (Wang et al. 2017).
import { decisionsOf, type LoggedChoices } from "./log.ts";
import type { Terms } from "./ratio.ts";
import { importanceWeights } from "./weights.ts";

export const estimators = ["ips", "snips", "dm", "dr", "switch-dr"] as const;
export type Estimator = (typeof estimators)[number];

/** Those that need predictions of the reward. */
export const needsModel = (estimator: Estimator): boolean => !["ips", "snips"].includes(estimator);

export interface EstimatorOptions {
  /** Weights are clipped at it; switch-dr takes the model alone above it. Infinity: never. */
  cap: number;
  /** lambda_c: utility is the reward less this times the normalised cost of the arm. */
  costWeight: number;
  /** Predicted reward, one per candidate. */
  predicted?: Float64Array | undefined;
  /** Inverse probability of feedback, one per decision; 0: none. Absent: all have a reward. */
  feedbackWeight?: Float64Array | undefined;
}

/** Terms whose mean the estimator is. RangeError without needed rewards or predictions. */
export function termsOf(
  estimator: Estimator,
  log: LoggedChoices,
  target: Float64Array,
  { cap, costWeight, predicted, feedbackWeight }: EstimatorOptions,
): Terms {
  const n = decisionsOf(log);
  const weights = importanceWeights(log, target);
  const numerator = new Float64Array(n);
  const denominator = estimator === "snips" ? new Float64Array(n) : null;
  if (needsModel(estimator) && predicted === undefined)
    throw new RangeError(`${estimator} needs predictions of the reward`);
  for (let i = 0; i < n; i++) {
    const heard = feedbackWeight === undefined ? 1 : feedbackWeight[i]!;
    const raw = weights[i]!;
    const weight = heard * (estimator === "switch-dr" ? (raw <= cap ? raw : 0) : Math.min(raw, cap));
    const reward = log.reward[i]!;
    if (Number.isNaN(reward) && heard !== 0) throw new RangeError(`decision ${i} has no reward`);
    const chosen = log.chosen[i]!;
    if (predicted === undefined || !needsModel(estimator)) {
      numerator[i] = weight === 0 ? 0 : weight * (reward - costWeight * log.cost[chosen]!);
      if (denominator !== null) denominator[i] = weight;
      continue;
    }
    let direct = 0;
    for (let candidate = log.start[i]!; candidate < log.start[i + 1]!; candidate++)
      direct += target[candidate]! * (predicted[candidate]! - costWeight * log.cost[candidate]!);
    // The cost is known, so it cancels in what the model got wrong.
    const missed = estimator === "dm" || weight === 0 ? 0 : weight * (reward - predicted[chosen]!);
    numerator[i] = direct + missed;
  }
  return { numerator, denominator };
}

/** Smallest and largest possible term; null for snips, which is no mean of bounded terms. */
export function termBounds(
  estimator: Estimator,
  { cap, costWeight, feedbackWeight }: EstimatorOptions,
): { low: number; high: number } | null {
  const heard = feedbackWeight === undefined ? 1 : feedbackWeight.reduce((most, one) => Math.max(most, one), 1);
  const most = cap * heard;
  if (estimator === "snips" || !Number.isFinite(most)) return null;
  if (estimator === "ips") return { low: -most * costWeight, high: most };
  const reach = estimator === "dm" ? 0 : most;
  return { low: -costWeight - reach, high: 1 + reach };
}
