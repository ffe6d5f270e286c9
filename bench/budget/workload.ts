// What comes in each hour: questions of skewed, slowly moving popularity, asked in the words of
// before (an answer kept can serve) or in words of their own (an example can help a cheap arm).
// Sizes and lengths are those of real pairs. All chance is drawn here: every split meets the same.
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { drawHours, sizesOf } from "../eviction/pool.ts";
import type { Pair } from "../support/samples.ts";
import type { Item } from "../support/simulated-pool.ts";
import { mean } from "../support/statistics.ts";

/** An item with its pair: a question that can be asked. */
export interface Question extends Item {
  pair: Pair;
  /** Its answer's length beside the mean: a request's cost over its arm's. */
  length: number;
}

export interface Asked {
  item: number;
  /** In the words of before; else in words that come once. */
  repeats: boolean;
  /** A cheap arm that is shown the example answers well. */
  succeeds: boolean;
  /** Where no example is held, the answer becomes one. */
  returns: boolean;
}

export interface Workload {
  questions: Question[];
  hours: Asked[][];
}

/** Shares of repeats, first and last; in the middle third they change over, hour by hour. */
export interface Mix {
  from: number;
  to: number;
}

export interface WorkloadOptions {
  pairs: readonly Pair[];
  hours: number;
  askedAnHour: number;
  mix: Mix;
  /** Share of the popularities that is drawn anew each hour. */
  drift: number;
  seed: number;
}

export function drawWorkload({ pairs, hours, askedAnHour, mix, drift, seed }: WorkloadOptions): Workload {
  const random = splitmix64(seed);
  const drawn = drawHours({ sizes: sizesOf(pairs), hours, usesAnHour: askedAnHour, drift, random });
  const lengths = pairs.map(({ response }) => response.length);
  const usual = mean(lengths);
  return {
    questions: drawn.items.map((item, i) => ({ ...item, pair: pairs[i]!, length: lengths[i]! / usual })),
    hours: drawn.hours.map((uses, hour) =>
      uses.map(({ item, credit, returns }) => ({
        ...{ item, succeeds: credit > 0, returns },
        repeats: random() < shareAt(mix, (hour + 0.5) / hours),
      })),
    ),
  };
}

/** when: [0, 1]. */
const shareAt = ({ from, to }: Mix, when: number): number =>
  from + (to - from) * Math.min(1, Math.max(0, 3 * when - 1));
