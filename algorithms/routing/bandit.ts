// The router's model of one arm: Bayesian linear regression of the reward on x
// (docs/design/routing.md, Model of an arm), solved from sums that ClickHouse keeps by the hour.
import {
  addOuter,
  cholesky,
  dot,
  multiply,
  packedIndex,
  packedLength,
  packedRows,
  solveCholesky,
  solveLower,
  type Numbers,
} from "../numeric/matrix.ts";
import { normal, type Random } from "../numeric/random.ts";

export interface Statistics {
  /** Sum of w x xT, packed lower triangle. */
  a: Numbers;
  /** Sum of w r x. */
  b: Numbers;
}

/** Weights ~ N(mean, variance I); reward = weights . x + N(0, noise). Variances are > 0. */
export interface Prior {
  mean: Numbers;
  variance: number;
  noise: number;
}

export interface Posterior {
  mean: Numbers;
  /** Packed lower Cholesky factor of the precision (the inverse of the covariance). */
  factor: Numbers;
}

/** Predicted quality for one context: N(mean, deviation^2). */
export interface Prediction {
  mean: number;
  deviation: number;
}

/** The prior of every arm: `constant` on feature 0 (the constant one), 0 elsewhere. */
export function constantPrior(dimension: number, constant: number, variance: number, noise: number): Prior {
  const mean = new Float64Array(dimension);
  mean[0] = constant;
  return { mean, variance, noise };
}

export const emptyStatistics = (dimension: number): { a: Float64Array; b: Float64Array } => ({
  a: new Float64Array(packedLength(dimension)),
  b: new Float64Array(dimension),
});

/** Adds one rewarded decision in place; a negative weight takes it back. */
export function observe(
  statistics: { a: Float64Array; b: Float64Array },
  x: Numbers,
  reward: number,
  weight = 1,
): void {
  addOuter(statistics.a, x, weight);
  for (let i = 0; i < x.length; i++) statistics.b[i] = statistics.b[i]! + weight * reward * x[i]!;
}

/** Posterior of the weights. RangeError for wrong sizes, not finite or indefinite values. */
export function solvePosterior(statistics: Statistics, prior: Prior): Posterior {
  const n = prior.mean.length;
  if (statistics.b.length !== n || packedRows(statistics.a.length) !== n)
    throw new RangeError(`statistics of ${statistics.b.length} features with a prior of ${n}`);
  if (!(prior.variance > 0 && prior.noise > 0))
    throw new RangeError("variance and noise of the prior must be positive");
  const precision = Float64Array.from(statistics.a, (value) => value / prior.noise);
  for (let i = 0; i < n; i++) precision[packedIndex(i, i)] = precision[packedIndex(i, i)]! + 1 / prior.variance;
  const factor = cholesky(precision);
  // Solved as a step away from the prior mean: with little data nothing cancels.
  const explained = multiply(statistics.a, prior.mean);
  const step = solveCholesky(
    factor,
    Float64Array.from(statistics.b, (value, i) => (value - explained[i]!) / prior.noise),
  );
  const mean = step.map((value, i) => value + prior.mean[i]!);
  if (!mean.every(Number.isFinite)) throw new RangeError("the statistics are not finite");
  return { mean, factor };
}

/** The prior as a posterior: an arm of which nothing is known. */
export function priorPosterior(prior: Prior): Posterior {
  const n = prior.mean.length;
  const factor = new Float64Array(packedLength(n));
  for (let i = 0; i < n; i++) factor[packedIndex(i, i)] = 1 / Math.sqrt(prior.variance);
  return { mean: prior.mean, factor };
}

/** Quality predicted for x, the observation noise not included. */
export function predict(posterior: Posterior, x: Numbers): Prediction {
  if (x.length !== posterior.mean.length)
    throw new RangeError(`a context of ${x.length} features with a posterior of ${posterior.mean.length}`);
  const half = solveLower(posterior.factor, x);
  return { mean: dot(posterior.mean, x), deviation: Math.sqrt(dot(half, half)) };
}

/** Deviation with which an arm is tried: d^2 / (d + indifference). 0: plain Thompson sampling. */
export const triedWith = (deviation: number, indifference: number): number =>
  indifference === 0 || deviation === 0 ? deviation : (deviation * deviation) / (deviation + indifference);

export const sample = ({ mean, deviation }: Prediction, random: Random): number => mean + deviation * normal(random);
