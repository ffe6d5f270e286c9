// Hierarchical prior over the arms (docs/design/routing.md, Prior): weights m0 + shared + own_i,
// shared ~ N(0, S), own_i ~ N(0, O), S and O diagonal by group of features. Variances and noise
// maximise the evidence (MacKay's fixed point), with weak inverse gamma priors. Pure, fixed number
// of steps.
import type { Posterior, Statistics } from "./bandit.ts";
import {
  cholesky,
  dot,
  multiply,
  packedIndex,
  packedLength,
  packedRows,
  solveCholesky,
  type Numbers,
} from "../numeric/matrix.ts";

/** Variances, one per group of features; all > 0. */
export interface Variances {
  shared: readonly number[];
  own: readonly number[];
  noise: number;
}

export interface Hierarchy {
  /** m0. */
  mean: Numbers;
  /** Group of each feature, as index into the variances. */
  groups: readonly number[];
  variances: Variances;
  /** By group, what its own variance is pulled towards; else its first guess, one observation. */
  pulls?: Readonly<Record<number, Pull>>;
}

export interface Pull {
  towards: number;
  weight: number;
}

export interface ArmSums extends Statistics {
  /** Sum of w, and of w r^2. */
  weight: number;
  squares: number;
}

export interface SolvedHierarchy {
  arms: Posterior[];
  unknown: Posterior;
}

/** Observations that the first guess of a variance, and of the noise, is worth. */
const guess = { variance: 1, noise: 10 };
const steps = 12;
/** Rewards in [0, 1] are never surer than this: a log of one value must not freeze exploration. */
const leastNoise = 1e-3;

/** RangeError for wrong sizes, or sums that are not finite or not positive semidefinite. */
export function solveHierarchy(arms: readonly ArmSums[], hierarchy: Hierarchy): SolvedHierarchy {
  return posteriors(condition(arms, hierarchy), hierarchy);
}

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

/** Posterior under given variances: shared ~ N(shift, inverse of Q), own given shared. */
interface Conditioned {
  shift: Float64Array;
  /** Inverse of Q, packed. */
  sharedCovariance: Float64Array;
  each: {
    /** (G + 1/O)^-1, packed; G = A / noise. */
    covariance: Float64Array;
    /** (b - A m0) / noise. */
    residual: Float64Array;
  }[];
}

const perFeature = ({ groups }: Hierarchy, of: readonly number[]): Float64Array =>
  Float64Array.from(groups, (group) => of[group]!);

function condition(arms: readonly ArmSums[], hierarchy: Hierarchy): Conditioned {
  const { mean, variances } = hierarchy;
  const n = mean.length;
  const own = perFeature(hierarchy, variances.own);
  const shared = perFeature(hierarchy, variances.shared);
  const precision = new Float64Array(packedLength(n));
  for (let i = 0; i < n; i++) precision[packedIndex(i, i)] = 1 / shared[i]!;
  const pull = new Float64Array(n);
  const each = arms.map(({ a, b }) => {
    if (b.length !== n || packedRows(a.length) !== n)
      throw new RangeError(`statistics of ${b.length} features with a prior of ${n}`);
    const inner = Float64Array.from(a, (value) => value / variances.noise);
    for (let i = 0; i < n; i++) inner[packedIndex(i, i)]! += 1 / own[i]!;
    const covariance = inverse(cholesky(inner), n);
    const explained = multiply(a, mean);
    const residual = Float64Array.from(b, (value, i) => (value - explained[i]!) / variances.noise);
    const towards = multiply(covariance, residual);
    for (let i = 0; i < n; i++) {
      pull[i]! += towards[i]! / own[i]!;
      // 1/O - 1/O P^-1 1/O: what this arm says of the shared part.
      for (let j = 0; j <= i; j++) precision[packedIndex(i, j)]! -= covariance[packedIndex(i, j)]! / own[i]! / own[j]!;
      precision[packedIndex(i, i)]! += 1 / own[i]!;
    }
    return { covariance, residual };
  });
  const factor = cholesky(precision);
  const shift = solveCholesky(factor, pull);
  if (!shift.every(Number.isFinite)) throw new RangeError("the statistics are not finite");
  return { shift, sharedCovariance: inverse(factor, n), each };
}

function armStep({ shift }: Conditioned, { residual, covariance }: Conditioned["each"][number], own: Float64Array) {
  return multiply(
    covariance,
    residual.map((value, i) => value + shift[i]! / own[i]!),
  );
}

function posteriors(known: Conditioned, hierarchy: Hierarchy): SolvedHierarchy {
  const { mean, variances } = hierarchy;
  const n = mean.length;
  const own = perFeature(hierarchy, variances.own);
  const posterior = (step: Float64Array, covariance: Float64Array): Posterior => {
    const factor = cholesky(inverse(cholesky(covariance), n));
    return { mean: step.map((value, i) => value + mean[i]!), factor };
  };
  const untried = Float64Array.from(known.sharedCovariance);
  for (let i = 0; i < n; i++) untried[packedIndex(i, i)]! += own[i]!;
  return {
    arms: known.each.map((one) => {
      const follows = scaledColumns(one.covariance, own);
      const covariance = Float64Array.from(one.covariance);
      const product = timesSymmetric(follows, known.sharedCovariance, n);
      for (let i = 0; i < n; i++)
        for (let j = 0; j <= i; j++)
          for (let k = 0; k < n; k++) covariance[packedIndex(i, j)]! += product[i * n + k]! * follows[j * n + k]!;
      return posterior(armStep(known, one, own), covariance);
    }),
    unknown: posterior(known.shift, untried),
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

/** Inverse of L LT, packed: the product of the inverse of L with itself. */
export function inverse(factor: Numbers, n: number): Float64Array {
  const lower = new Float64Array(packedLength(n));
  for (let i = 0; i < n; i++) {
    const row = packedIndex(i, 0);
    for (let j = 0; j <= i; j++) {
      let sum = i === j ? 1 : 0;
      for (let k = j, at = packedIndex(j, j); k < i; at += ++k) sum -= factor[row + k]! * lower[at]!;
      lower[row + j] = sum / factor[row + i]!;
    }
  }
  const out = new Float64Array(packedLength(n));
  for (let k = 0; k < n; k++) {
    const row = packedIndex(k, 0);
    for (let i = 0; i <= k; i++) {
      const value = lower[row + i]!;
      const to = packedIndex(i, 0);
      for (let j = 0; j <= i; j++) out[to + j]! += value * lower[row + j]!;
    }
  }
  return out;
}

/** M diag(1 / d), as rows of a full matrix. */
function scaledColumns(packed: Numbers, d: Float64Array): Float64Array {
  const n = d.length;
  const out = new Float64Array(n * n);
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) out[i * n + j] = packed[packedIndex(i, j)]! / d[j]!;
  return out;
}

/** F C; F full, C packed and symmetric. */
function timesSymmetric(full: Float64Array, packed: Numbers, n: number): Float64Array {
  const square = new Float64Array(n * n);
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) square[i * n + j] = packed[packedIndex(i, j)]!;
  const out = new Float64Array(n * n);
  for (let i = 0; i < n; i++)
    for (let k = 0; k < n; k++) {
      const value = full[i * n + k]!;
      for (let j = 0; j < n; j++) out[i * n + j]! += value * square[k * n + j]!;
    }
  return out;
}
