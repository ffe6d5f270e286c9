// Every estimator here is a ratio of two means: of a term and of 1 (IPS, DM, DR) or of the weight
// (SNIPS). One standard error serves all: that of the linearised terms (delta method).
import { normalQuantile } from "../numeric/gaussian.ts";

export interface Terms {
  numerator: Float64Array;
  /** null: 1 for every decision. */
  denominator: Float64Array | null;
}

export interface Interval {
  low: number;
  high: number;
}

export interface Ratio {
  value: number;
  error: number;
  /** Influence on the value times the number of decisions, one per decision; they sum to 0. */
  influence: Float64Array;
}

/** null if undefined: no decisions, or a denominator of 0. */
export function ratioOf({ numerator, denominator }: Terms): Ratio | null {
  const n = numerator.length;
  let [top, bottom] = [0, 0];
  for (let i = 0; i < n; i++) {
    top += numerator[i]!;
    bottom += denominator === null ? 1 : denominator[i]!;
  }
  if (!(bottom > 0)) return null;
  const value = top / bottom;
  const scale = n / bottom;
  const influence = Float64Array.from(
    numerator,
    (term, i) => (term - value * (denominator === null ? 1 : denominator[i]!)) * scale,
  );
  return { value, error: errorOf(influence), influence };
}

/** Standard error of a mean whose terms, less their mean, are given; NaN of fewer than two. */
export function errorOf(centred: Float64Array): number {
  const n = centred.length;
  let squares = 0;
  for (let i = 0; i < n; i++) squares += centred[i]! * centred[i]!;
  return n < 2 ? Number.NaN : Math.sqrt(squares / (n * (n - 1)));
}

/** value +- the normal quantile times the error; null where the error is not known. */
export function normalInterval(value: number, error: number, confidence: number): Interval | null {
  if (!Number.isFinite(error)) return null;
  const reach = normalQuantile((1 + confidence) / 2) * error;
  return { low: value - reach, high: value + reach };
}
