// Hierarchical prior over the arms (docs/design/routing.md, Prior): weights m0 + shared + own_i,
// shared ~ N(0, S), own_i ~ N(0, O), S and O diagonal by group of features. Pure.
import type { Posterior, Statistics } from "./bandit.ts";
import {
  cholesky,
  multiply,
  packedIndex,
  packedLength,
  packedRows,
  solveCholesky,
  type Numbers,
} from "../numeric/matrix.ts";
import { inverse, scaledColumns, timesSymmetric } from "../numeric/symmetric.ts";

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

/** RangeError for wrong sizes, or sums that are not finite or not positive semidefinite. */
export function solveHierarchy(arms: readonly ArmSums[], hierarchy: Hierarchy): SolvedHierarchy {
  return posteriors(condition(arms, hierarchy), hierarchy);
}

/** Posterior under given variances: shared ~ N(shift, inverse of Q), own given shared. */
export interface Conditioned {
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

export const perFeature = ({ groups }: Hierarchy, of: readonly number[]): Float64Array =>
  Float64Array.from(groups, (group) => of[group]!);

export function condition(arms: readonly ArmSums[], hierarchy: Hierarchy): Conditioned {
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

export function armStep(
  { shift }: Conditioned,
  { residual, covariance }: Conditioned["each"][number],
  own: Float64Array,
) {
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
