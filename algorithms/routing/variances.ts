// Variances and noise of the hierarchical prior that maximise the evidence (MacKay's fixed point),
// with weak inverse gamma priors. Pure, fixed number of steps.
import { dot, multiply, packedIndex, packedRows } from "../numeric/matrix.ts";
import { scaledColumns, timesSymmetric } from "../numeric/symmetric.ts";
import {
  armStep,
  condition,
  perFeature,
  type ArmSums,
  type Conditioned,
  type Hierarchy,
  type Pull,
  type Variances,
} from "./hierarchy.ts";

/** Observations that the first guess of a variance, and of the noise, is worth. */
const guess = { variance: 1, noise: 10 };
const steps = 12;
/** Rewards in [0, 1] are never surer than this: a log of one value must not freeze exploration. */
const leastNoise = 1e-3;

/** The variances under which the rewards are most likely, beginning from those given. */
export function estimateVariances(arms: readonly ArmSums[], hierarchy: Hierarchy): Variances {
  const first = hierarchy.variances;
  const seen = onlySeen(arms, hierarchy);
  let variances = first;
  for (let step = 0; step < steps; step++) {
    const now = { ...seen.hierarchy, variances };
    variances = improved(condition(seen.arms, now), seen.arms, now, first);
  }
  return variances;
}

/** Excludes features that were 0 in every context: they hold no evidence of a variance. */
function onlySeen(arms: readonly ArmSums[], hierarchy: Hierarchy): { arms: readonly ArmSums[]; hierarchy: Hierarchy } {
  const n = hierarchy.mean.length;
  const kept: number[] = [];
  // Values that condition() refuses, such as NaN, are left for it to report.
  for (let i = 0; i < n; i++) if (arms.some(({ a, b }) => a[packedIndex(i, i)] !== 0 || b[i] !== 0)) kept.push(i);
  if (kept.length === n || arms.some(({ a, b }) => b.length !== n || packedRows(a.length) !== n))
    return { arms, hierarchy };
  return {
    arms: arms.map((arm) => ({
      ...arm,
      a: Float64Array.from(kept.flatMap((i, at) => kept.slice(0, at + 1).map((j) => arm.a[packedIndex(i, j)]!))),
      b: Float64Array.from(kept, (i) => arm.b[i]!),
    })),
    hierarchy: {
      ...hierarchy,
      mean: Float64Array.from(kept, (i) => hierarchy.mean[i]!),
      groups: kept.map((i) => hierarchy.groups[i]!),
    },
  };
}

/** One step of the fixed point: s = sum of squares / (effective number of weights). */
function improved(known: Conditioned, arms: readonly ArmSums[], hierarchy: Hierarchy, first: Variances): Variances {
  const { groups, mean, variances, pulls = {} } = hierarchy;
  const n = groups.length;
  const own = perFeature(hierarchy, variances.own);
  const sums = (guesses: readonly number[], pulled: Readonly<Record<number, Pull>> = {}) =>
    guesses.map((value, group) => {
      const { towards, weight: under } = pulled[group] ?? { towards: value, weight: guess.variance };
      return { top: under * towards, under };
    });
  const shared = sums(first.shared);
  const owned = sums(first.own, pulls);
  const add = (to: typeof shared, k: number, value: number, variance: number, prior: number): void => {
    const sum = to[groups[k]!]!;
    sum.top += value * value;
    sum.under += Math.max(0, 1 - variance / prior);
  };
  for (let k = 0; k < groups.length; k++)
    add(shared, k, known.shift[k]!, known.sharedCovariance[packedIndex(k, k)]!, variances.shared[groups[k]!]!);
  let error = guess.noise * first.noise;
  let weight = guess.noise;
  arms.forEach((arm, i) => {
    const one = known.each[i]!;
    const step = armStep(known, one, own);
    // F: how the arm follows the shared part, and so own_i = (I - F) shared + P^-1 residual: its
    // variance given all data. H = F Q^-1 is the one product that it takes.
    const follows = scaledColumns(one.covariance, own);
    const product = timesSymmetric(follows, known.sharedCovariance, n);
    // Trace of A times the covariance of the arm's weights; P^-1 G = I - F.
    let trace = n;
    for (let k = 0; k < n; k++) {
      let [through, both] = [0, 0];
      for (let j = 0; j < n; j++) {
        through += product[k * n + j]! * follows[k * n + j]!;
        both += ((j === k ? 1 : 0) - follows[k * n + j]!) * product[j * n + k]!;
      }
      trace += both / own[k]! - one.covariance[packedIndex(k, k)]! / own[k]!;
      const variance =
        one.covariance[packedIndex(k, k)]! +
        known.sharedCovariance[packedIndex(k, k)]! -
        2 * product[k * n + k]! +
        through;
      add(owned, k, step[k]! - known.shift[k]!, variance, variances.own[groups[k]!]!);
    }
    const explained = multiply(arm.a, mean);
    const residual = Float64Array.from(arm.b, (value, k) => value - explained[k]!);
    const squares = arm.squares - 2 * dot(mean, arm.b) + dot(mean, explained);
    const fitted = squares - 2 * dot(step, residual) + dot(step, multiply(arm.a, step)) + variances.noise * trace;
    error += Math.max(0, fitted);
    weight += arm.weight;
  });
  const ratio = ({ top, under }: (typeof shared)[number]): number => top / under;
  return { shared: shared.map(ratio), own: owned.map(ratio), noise: Math.max(leastNoise, error / weight) };
}
