// Comparisons of answers (docs/learning.md, Preferences): Bradley-Terry on the rewards' weights,
// logit P(i over j) = slope (x_i . theta_i - x_j . theta_j), added to Gaussian posteriors by Newton
// and Laplace. Pure, bounded steps.
import type { Posterior } from "./bandit.ts";
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

/** One comparison; the arms as indexes into the posteriors, and not the same. */
export interface PreferenceRow {
  first: number;
  second: number;
  firstContext: Numbers;
  secondContext: Numbers;
  /** 1: the first is better; 0: the second; 0.5: a tie. [0, 1]. */
  outcome: number;
  /** >= 0. */
  weight: number;
}

const mostSteps = 50;
const mostHalvings = 40;
/** Newton's decrement below which nothing more is gained. */
const enough = 1e-20;
/** ... and below which a gain is lost in the density's rounding: there Newton's step is taken. */
const unseen = 1e-9;

/**
 * The posteriors with the rows added; arms in no row keep their objects. Each is that arm's part of
 * the joint one. RangeError for wrong sizes or not finite values.
 */
export function addPreferences(
  posteriors: readonly Posterior[],
  rows: readonly PreferenceRow[],
  slope = 1,
): Posterior[] {
  const compared = comparedArms(posteriors, rows, slope);
  if (compared === null) return [...posteriors];
  const { problem, indexOf } = compared;
  const { arms, n } = problem;
  const { step, hessian } = maximum(problem);
  const next = [...posteriors];
  for (const [index, at] of indexOf)
    next[index] = {
      mean: Float64Array.from(arms[at]!.mean, (mean, k) => mean + step[at * n + k]!),
      factor: marginalFactor(hessian, at, arms.length, n),
    };
  return next;
}

/** Log probability of the rows under a slope, weights integrated out (Laplace). */
export function preferenceEvidence(
  posteriors: readonly Posterior[],
  rows: readonly PreferenceRow[],
  slope: number,
): number {
  const compared = comparedArms(posteriors, rows, slope);
  if (compared === null) return 0;
  const { value, hessian } = maximum(compared.problem);
  const factor = cholesky(hessian);
  let evidence = value;
  for (let i = 0; i < packedRows(factor.length); i++) evidence -= Math.log(factor[packedIndex(i, i)]!);
  return evidence;
}

/** The arms that stand in the rows, and their row indexes by arm index; null: none does. */
function comparedArms(
  posteriors: readonly Posterior[],
  rows: readonly PreferenceRow[],
  slope: number,
): { problem: Problem; indexOf: Map<number, number> } | null {
  if (!(slope > 0 && Number.isFinite(slope))) throw new RangeError(`a slope of ${slope}`);
  const used = [...new Set(rows.filter(({ weight }) => weight > 0).flatMap(({ first, second }) => [first, second]))];
  if (used.length === 0) return null;
  const arms = used.toSorted((a, b) => a - b).map((index) => posteriors[index]!);
  const indexOf = new Map(used.toSorted((a, b) => a - b).map((index, at) => [index, at]));
  const n = arms[0]!.mean.length;
  const pairs = rows
    .filter(({ weight }) => weight > 0)
    .map((row) => {
      const sizes = [row.firstContext.length, row.secondContext.length, ...arms.map(({ mean }) => mean.length)];
      if (sizes.some((size) => size !== n) || row.first === row.second)
        throw new RangeError("a comparison is of two arms, with contexts of the length of their weights");
      if (!(row.outcome >= 0 && row.outcome <= 1 && Number.isFinite(row.weight)))
        throw new RangeError(`a comparison with the outcome ${row.outcome} and the weight ${row.weight}`);
      return { ...row, first: indexOf.get(row.first)!, second: indexOf.get(row.second)! };
    });
  const precisions = arms.map(({ factor }) => squared(factor, n));
  return { problem: { arms, precisions, pairs, n, slope }, indexOf };
}

/** The most likely weights, as a step from the means, and the curvature there. */
function maximum(problem: Problem): { step: Float64Array; value: number; hessian: Float64Array } {
  // In steps from the means, to avoid cancellation when the rows say little.
  let step = new Float64Array(problem.arms.length * problem.n);
  let value = objective(problem, step);
  for (let round = 0; round < mostSteps; round++) {
    const { gradient, hessian } = curvature(problem, step);
    const move = solveCholesky(cholesky(hessian), gradient);
    const decrement = dot(move, gradient);
    if (!Number.isFinite(decrement)) throw new RangeError("the comparisons are not finite");
    if (decrement < enough) break;
    if (decrement < unseen) {
      step = step.map((at, k) => at + move[k]!);
      value = objective(problem, step);
      continue;
    }
    // Strictly concave: a move that is short enough always gains.
    let [length, tried, gained] = [1, step, value];
    for (let halving = 0; halving < mostHalvings; halving++, length /= 2) {
      tried = step.map((at, k) => at + length * move[k]!);
      gained = objective(problem, tried);
      if (gained >= value + 0.25 * length * decrement) break;
    }
    if (!(gained > value)) break;
    [step, value] = [tried, gained];
  }

  return { step, value, hessian: curvature(problem, step).hessian };
}

interface Problem {
  arms: readonly Posterior[];
  /** Packed precision matrices, one per arm. */
  precisions: readonly Float64Array[];
  pairs: readonly PreferenceRow[];
  n: number;
  slope: number;
}

function lead(
  { arms, n, slope }: Problem,
  step: Numbers,
  { first, second, firstContext, secondContext }: PreferenceRow,
): number {
  const worth = (arm: number, x: Numbers): number => {
    let sum = dot(arms[arm]!.mean, x);
    for (let k = 0; k < n; k++) sum += step[arm * n + k]! * x[k]!;
    return sum;
  };
  return slope * (worth(first, firstContext) - worth(second, secondContext));
}

/** log(1 + e^z), without overflow. */
const softplus = (z: number): number => Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z)));
const sigmoid = (z: number): number => (z >= 0 ? 1 / (1 + Math.exp(-z)) : Math.exp(z) / (1 + Math.exp(z)));

function objective(problem: Problem, step: Float64Array): number {
  const { precisions, pairs, n } = problem;
  let value = 0;
  precisions.forEach((precision, arm) => {
    const own = step.subarray(arm * n, (arm + 1) * n);
    value -= dot(own, multiply(precision, own)) / 2;
  });
  for (const pair of pairs) {
    const z = lead(problem, step, pair);
    value += pair.weight * (pair.outcome * z - softplus(z));
  }
  return value;
}

/** Gradient of the objective, and its negative second derivative, packed. */
function curvature(problem: Problem, step: Float64Array): { gradient: Float64Array; hessian: Float64Array } {
  const { precisions, pairs, n, slope } = problem;
  const gradient = new Float64Array(step.length);
  const hessian = new Float64Array(packedLength(step.length));
  precisions.forEach((precision, arm) => {
    multiply(precision, step.subarray(arm * n, (arm + 1) * n)).forEach((value, k) => (gradient[arm * n + k]! -= value));
    for (let i = 0; i < n; i++)
      for (let j = 0; j <= i; j++) hessian[packedIndex(arm * n + i, arm * n + j)]! += precision[packedIndex(i, j)]!;
  });
  for (const pair of pairs) {
    const chance = sigmoid(lead(problem, step, pair));
    const pull = slope * pair.weight * (pair.outcome - chance);
    const bend = slope * slope * pair.weight * chance * (1 - chance);
    const sides = [
      { arm: pair.first, x: pair.firstContext, sign: 1 },
      { arm: pair.second, x: pair.secondContext, sign: -1 },
    ];
    for (const one of sides) {
      for (let i = 0; i < n; i++) gradient[one.arm * n + i]! += pull * one.sign * one.x[i]!;
      for (const other of sides.filter(({ arm }) => arm <= one.arm))
        for (let i = 0; i < n; i++) {
          const value = bend * one.sign * other.sign * one.x[i]!;
          const last = other.arm === one.arm ? i : n - 1;
          for (let j = 0; j <= last; j++)
            hessian[packedIndex(one.arm * n + i, other.arm * n + j)]! += value * other.x[j]!;
        }
    }
  }
  return { gradient, hessian };
}

/** L LT, packed. */
function squared(factor: Numbers, n: number): Float64Array {
  const out = new Float64Array(packedLength(n));
  for (let i = 0; i < n; i++)
    for (let j = 0; j <= i; j++)
      for (let k = 0; k <= j; k++) out[packedIndex(i, j)]! += factor[packedIndex(i, k)]! * factor[packedIndex(j, k)]!;
  return out;
}

/** Factor of an arm's own precision, the others integrated out. */
function marginalFactor(hessian: Numbers, arm: number, count: number, n: number): Float64Array {
  const order = [...Array.from({ length: count }, (_, at) => at).filter((at) => at !== arm), arm];
  const at = (row: number): number => order[Math.floor(row / n)]! * n + (row % n);
  const all = new Float64Array(packedLength(count * n));
  for (let i = 0; i < count * n; i++)
    for (let j = 0; j <= i; j++) {
      const [a, b] = [at(i), at(j)];
      all[packedIndex(i, j)] = hessian[a >= b ? packedIndex(a, b) : packedIndex(b, a)]!;
    }
  const factor = cholesky(all);
  const from = (count - 1) * n;
  const out = new Float64Array(packedLength(n));
  for (let i = 0; i < n; i++)
    for (let j = 0; j <= i; j++) out[packedIndex(i, j)] = factor[packedIndex(from + i, from + j)]!;
  return out;
}
