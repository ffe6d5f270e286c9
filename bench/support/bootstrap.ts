// Interval of a mean difference between two treatments of the same items, by paired percentile
// bootstrap: items are drawn with replacement, both their values together, so that what is hard for
// both does not widen the interval. Pure: the random source is passed in.
import type { Random } from "../../algorithms/numeric/random.ts";
import { mean, quantile } from "./statistics.ts";

export interface Interval {
  /** Mean of treated - baseline. */
  difference: number;
  low: number;
  high: number;
}

export interface BootstrapOptions {
  random: Random;
  /** Draws of the whole sample; default 10,000. */
  resamples?: number;
  /** Share of the draws inside the interval, (0, 1); default 0.95. */
  confidence?: number;
}

/** Throws RangeError for no pairs or lists of different lengths. */
export function pairedBootstrap(
  treated: readonly number[],
  baseline: readonly number[],
  { random, resamples = 10_000, confidence = 0.95 }: BootstrapOptions,
): Interval {
  if (treated.length !== baseline.length)
    throw new RangeError(`${treated.length} and ${baseline.length} values are no pairs`);
  if (treated.length === 0) throw new RangeError("no pairs: no interval");
  const differences = treated.map((value, i) => value - baseline[i]!);
  const count = differences.length;
  const means = Array.from({ length: resamples }, () => {
    let sum = 0;
    for (let i = 0; i < count; i++) sum += differences[Math.floor(random() * count)]!;
    return sum / count;
  });
  const tail = (1 - confidence) / 2;
  return { difference: mean(differences), low: quantile(means, tail), high: quantile(means, 1 - tail) };
}
