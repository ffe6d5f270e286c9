// Order statistics of measured values. Pure.
import { quantilesOf } from "../../algorithms/numeric/quantile.ts";

export interface Spread {
  median: number;
  minimum: number;
  maximum: number;
}

/**
 * Quantile by linear interpolation between the order statistics (type 7, as in R and NumPy); q in
 * [0, 1]. Throws RangeError for no values.
 */
export function quantile(values: readonly number[], q: number): number {
  if (values.length === 0) throw new RangeError("no values: no quantile");
  if (!(q >= 0 && q <= 1)) throw new RangeError(`a quantile lies in [0, 1], not at ${q}`);
  return quantilesOf(values, [q])[0]!;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Median with minimum and maximum. Throws RangeError for no values. */
export const spread = (values: readonly number[]): Spread => ({
  median: median(values),
  minimum: quantile(values, 0),
  maximum: quantile(values, 1),
});

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** A cumulative bucket of a histogram: how many values were at most `atMost`. */
export interface Bucket {
  atMost: number;
  count: number;
}

/**
 * Quantile of a histogram, linear within the bucket (as PromQL's histogram_quantile); NaN when it
 * is empty. Buckets ascend.
 */
export function histogramQuantile(buckets: readonly Bucket[], q: number): number {
  const total = buckets.at(-1)?.count ?? 0;
  if (total === 0) return Number.NaN;
  const wanted = q * total;
  const index = buckets.findIndex(({ count }) => count >= wanted);
  const bucket = buckets[index]!;
  const before = buckets[index - 1] ?? { atMost: 0, count: 0 };
  if (bucket.atMost === Infinity) return before.atMost;
  const inside = bucket.count - before.count;
  const share = inside === 0 ? 1 : (wanted - before.count) / inside;
  return before.atMost + (bucket.atMost - before.atMost) * share;
}

/** Rounded to so many significant digits, for tables and files. */
export const significant = (value: number, digits = 4): number =>
  Number.isFinite(value) ? Number(value.toPrecision(digits)) : value;

/** Slope of the least-squares line through (x, y); NaN for fewer than two different x. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const [x0, y0] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const over = points.reduce((sum, [x, y]) => sum + (x - x0) * (y - y0), 0);
  const under = points.reduce((sum, [x]) => sum + (x - x0) ** 2, 0);
  return under === 0 ? Number.NaN : over / under;
}
