// Evaluates a target policy, or two on the same decisions: value, interval, kind of interval.
import { bootstrapInterval } from "./bootstrap.ts";
import { termBounds, termsOf, type Estimator, type EstimatorOptions } from "./estimators.ts";
import type { LoggedChoices } from "./log.ts";
import { errorOf, normalInterval, ratioOf, type Interval, type Terms } from "./ratio.ts";

/** normal: standard error (snips: delta method); bootstrap: Poisson; bernstein: any number. */
export const intervalKinds = ["normal", "bootstrap", "bernstein"] as const;
export type IntervalKind = (typeof intervalKinds)[number];

export interface IntervalOptions {
  kind: IntervalKind;
  confidence: number;
  seed: number;
}

export interface Estimate {
  estimator: Estimator;
  /** null: nothing to divide by. */
  value: number | null;
  error: number | null;
  interval: Interval | null;
  /** How the interval was made, or why there is none. */
  intervalBy: string;
}

/** The value of one target; over these decisions alone, where `rows` names them. */
export function evaluate(
  estimator: Estimator,
  log: LoggedChoices,
  target: Float64Array,
  options: EstimatorOptions,
  interval: IntervalOptions,
  rows?: Int32Array,
): Estimate {
  const terms = only(termsOf(estimator, log, target, options), rows);
  const ratio = ratioOf(terms);
  if (ratio === null) return nothing(estimator);
  return estimated(estimator, ratio, options, interval, {
    isCertain: false,
    bootstrap: () => bootstrapInterval(terms, null, interval),
    bernstein: (bounds) => empiricalBernstein(terms.numerator, { ...bounds, confidence: interval.confidence }),
  });
}

export function difference(
  estimator: Estimator,
  log: LoggedChoices,
  { target, base }: { target: Float64Array; base: Float64Array },
  options: EstimatorOptions,
  interval: IntervalOptions,
  rows?: Int32Array,
): Estimate {
  const terms = [target, base].map((one) => only(termsOf(estimator, log, one, options), rows));
  const [one, other] = terms.map(ratioOf);
  if (!one || !other) return nothing(estimator);
  const value = one.value - other.value;
  const error = errorOf(one.influence.map((term, i) => term - other.influence[i]!));
  return estimated(estimator, { value, error }, options, interval, {
    // Policies that choose alike differ by 0.
    isCertain: Math.abs(value) <= leastError,
    bootstrap: () => bootstrapInterval(terms[0]!, terms[1]!, interval),
    bernstein({ low, high }) {
      const paired = terms[0]!.numerator.map((term, i) => term - terms[1]!.numerator[i]!);
      const reach = high - low;
      return empiricalBernstein(paired, { low: -reach, high: reach, confidence: interval.confidence });
    },
  });
}

/** How the intervals of a value follow from its terms; bernstein: from the bounds of a term. */
interface Intervals {
  /** Whether terms that are all equal leave no doubt. */
  isCertain: boolean;
  bootstrap: () => Interval | null;
  bernstein: (bounds: Interval) => Interval | null;
}

function estimated(
  estimator: Estimator,
  { value, error }: { value: number; error: number },
  options: EstimatorOptions,
  { kind, confidence }: IntervalOptions,
  intervals: Intervals,
): Estimate {
  const known = { estimator, value, error: Number.isFinite(error) ? error : null };
  if (estimator === "dm") return { ...known, error: null, interval: null, intervalBy: ofTheModel };
  if (kind !== "bernstein" && error < leastError && !intervals.isCertain)
    return { ...known, error: null, interval: null, intervalBy: allEqual };
  if (kind === "bootstrap") return { ...known, interval: intervals.bootstrap(), intervalBy: percentile };
  if (kind === "normal")
    return { ...known, interval: normalInterval(value, error, confidence), intervalBy: normalBy(estimator) };
  const bounds = termBounds(estimator, options);
  return bounds === null
    ? { ...known, interval: null, intervalBy: unbounded }
    : { ...known, interval: intervals.bernstein(bounds), intervalBy: "empirical Bernstein" };
}

/** The model is fitted on the whole log, whichever decisions the value is of. */
function only({ numerator, denominator }: Terms, rows: Int32Array | undefined): Terms {
  if (rows === undefined) return { numerator, denominator };
  const picked = (values: Float64Array): Float64Array => Float64Array.from(rows, (row) => values[row]!);
  return { numerator: picked(numerator), denominator: denominator === null ? null : picked(denominator) };
}

/** Below it a standard error is rounding: a few equal rewards don't make a value certain. */
const leastError = 1e-12;
const allEqual = "none: all terms are equal, which shows no spread";
const percentile = "percentile bootstrap";
const ofTheModel = "none: the error of dm is that of its reward model, which its terms don't show";
const unbounded = "none: empirical Bernstein needs a mean of bounded terms (not snips, a finite cap)";
const normalBy = (estimator: Estimator): string =>
  estimator === "snips" ? "delta method" : "sample variance of the terms";
const nothing = (estimator: Estimator): Estimate => ({
  estimator,
  value: null,
  error: null,
  interval: null,
  intervalBy: "none: no decision has a weight",
});

/**
 * Interval of the mean of independent terms (Maurer and Pontil, COLT 2009, theorem 4); null below
 * two terms. RangeError for terms outside of [low, high].
 */
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
