// Reward model of dm and dr: for each arm a ridge regression of the reward on x, cross-fitted, so
// that no reward explains itself.
import { constantPrior, emptyStatistics, observe, solvePosterior, type Statistics } from "../routing/bandit.ts";
import { decisionsOf, folds, type LoggedChoices } from "./log.ts";

/** Penalty on the squared distance of the weights from a model that always predicts the mean. */
const penalty = 1;

/** Predicted reward of every candidate, [0, 1]; of an arm without rewards the mean of all. */
export function crossFitted(log: LoggedChoices): Float64Array {
  const { dimension, arms, x } = log;
  const n = decisionsOf(log);
  const sums = arms.map(() => Array.from({ length: folds }, () => emptyStatistics(dimension)));
  let [total, rewarded] = [0, 0];
  for (let i = 0; i < n; i++) {
    const reward = log.reward[i]!;
    if (Number.isNaN(reward)) continue;
    total += reward;
    rewarded++;
    const candidate = log.chosen[i]!;
    observe(sums[log.arm[candidate]!]![log.fold[i]!]!, contextOf(x, dimension, candidate), reward);
  }
  const mean = rewarded === 0 ? 0.5 : total / rewarded;
  // A ridge penalty is the ratio of noise to prior variance.
  const prior = constantPrior(dimension, mean, 1, penalty);
  const models = sums.map((byFold) =>
    byFold.map((_, left) => solvePosterior(added(byFold, left, dimension), prior).mean),
  );

  const predicted = new Float64Array(log.arm.length);
  for (let i = 0; i < n; i++)
    for (let candidate = log.start[i]!; candidate < log.start[i + 1]!; candidate++) {
      const weights = models[log.arm[candidate]!]![log.fold[i]!]!;
      let sum = 0;
      for (let j = 0, at = candidate * dimension; j < dimension; j++) sum += weights[j]! * x[at + j]!;
      predicted[candidate] = Math.min(1, Math.max(0, sum));
    }
  return predicted;
}

const contextOf = (x: Float64Array, dimension: number, candidate: number): Float64Array =>
  x.subarray(candidate * dimension, (candidate + 1) * dimension);

function added(byFold: readonly Statistics[], left: number, dimension: number): Statistics {
  const out = emptyStatistics(dimension);
  byFold.forEach(({ a, b }, fold) => {
    if (fold === left) return;
    for (let k = 0; k < out.a.length; k++) out.a[k] = out.a[k]! + a[k]!;
    for (let k = 0; k < out.b.length; k++) out.b[k] = out.b[k]! + b[k]!;
  });
  return out;
}
