// Quantiles of numbers, by linear interpolation between neighbours (type 7, as in R and NumPy).

/** Quantile q, [0, 1], of ascending values; NaN without values. */
export function quantileOf(sorted: ArrayLike<number>, q: number): number {
  if (sorted.length === 0) return Number.NaN;
  const at = q * (sorted.length - 1);
  const below = sorted[Math.floor(at)]!;
  return below + (sorted[Math.ceil(at)]! - below) * (at - Math.floor(at));
}

export function quantilesOf(values: ArrayLike<number>, qs: readonly number[]): number[] {
  const sorted = Float64Array.from(values).sort();
  return qs.map((q) => quantileOf(sorted, q));
}

export const medianOf = (values: ArrayLike<number>): number => quantilesOf(values, [0.5])[0]!;
