// Empirical Bernstein bound (Maurer and Pontil, COLT 2009, theorem 4): an interval for the mean of
// independent terms in [low, high] that holds for any number of them.
import { errorOf, type Interval } from "./ratio.ts";

/** Interval of the mean; null below two terms. RangeError for terms outside of [low, high]. */
export function empiricalBernstein(
  terms: Float64Array,
  { low, high, confidence }: Interval & { confidence: number },
): Interval | null {
  const n = terms.length;
  if (n < 2) return null;
  const mean = terms.reduce((sum, term) => sum + term, 0) / n;
  const outside = terms.find((term) => !(term >= low - 1e-9 && term <= high + 1e-9));
  if (outside !== undefined) throw new RangeError(`a term of ${outside} is outside of [${low}, ${high}]`);
  // Each side gets half of the error probability.
  const logarithm = Math.log(4 / (1 - confidence));
  const error = errorOf(terms.map((term) => term - mean));
  const reach = error * Math.sqrt(2 * logarithm) + (7 * (high - low) * logarithm) / (3 * (n - 1));
  return { low: Math.max(low, mean - reach), high: Math.min(high, mean + reach) };
}
