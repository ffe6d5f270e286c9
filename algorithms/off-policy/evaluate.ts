// Evaluates a target policy, or two on the same decisions: value, interval, and the kind of
// interval.
import { empiricalBernstein } from "./bernstein.ts";
import { bootstrapInterval } from "./bootstrap.ts";
import { termBounds, termsOf, type Estimator, type EstimatorOptions } from "./estimators.ts";
import type { LoggedChoices } from "./log.ts";
import { errorOf, normalInterval, ratioOf, type Interval, type Terms } from "./ratio.ts";

/**
 * normal: standard error (delta method for snips); bootstrap: Poisson; bernstein: for any number.
 */
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
  const { value, error } = ratio;
  const known = { estimator, value, error: Number.isFinite(error) ? error : null };
  if (estimator === "dm") return { ...known, error: null, interval: null, intervalBy: ofTheModel };
  if (interval.kind !== "bernstein" && error < leastError)
    return { ...known, error: null, interval: null, intervalBy: allEqual };
  if (interval.kind === "bootstrap")
    return { ...known, interval: bootstrapInterval(terms, null, interval), intervalBy: percentile };
  if (interval.kind === "bernstein") {
    const bounds = termBounds(estimator, options);
    if (bounds === null) return { ...known, interval: null, intervalBy: unbounded };
    const { confidence } = interval;
    return {
      ...known,
      interval: empiricalBernstein(terms.numerator, { ...bounds, confidence }),
      intervalBy: "empirical Bernstein",
    };
  }
  return { ...known, interval: normalInterval(value, error, interval.confidence), intervalBy: normalBy(estimator) };
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
  const known = { estimator, value, error: Number.isFinite(error) ? error : null };
  if (estimator === "dm") return { ...known, error: null, interval: null, intervalBy: ofTheModel };
  // Policies that choose alike differ by 0, for certain.
  if (interval.kind !== "bernstein" && error < leastError && Math.abs(value) > leastError)
    return { ...known, error: null, interval: null, intervalBy: allEqual };
  if (interval.kind === "bootstrap")
    return { ...known, interval: bootstrapInterval(terms[0]!, terms[1]!, interval), intervalBy: percentile };
  if (interval.kind === "bernstein") {
    const bounds = termBounds(estimator, options);
    if (bounds === null) return { ...known, interval: null, intervalBy: unbounded };
    const paired = terms[0]!.numerator.map((term, i) => term - terms[1]!.numerator[i]!);
    const reach = bounds.high - bounds.low;
    return {
      ...known,
      interval: empiricalBernstein(paired, { low: -reach, high: reach, confidence: interval.confidence }),
      intervalBy: "empirical Bernstein",
    };
  }
  return { ...known, interval: normalInterval(value, error, interval.confidence), intervalBy: normalBy(estimator) };
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
