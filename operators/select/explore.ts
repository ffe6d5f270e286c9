// Requests that selection learns from (docs/design/selection.md, Unbiased labels; The threshold):
// some get a trial, others another threshold, none both; apart from that, some get a random order
// of the examples. Pure.
import type { ExampleOrder } from "../../algorithms/selection/example-order.ts";
import type { Random } from "../../algorithms/numeric/random.ts";
import type { DrawnOrder } from "../../algorithms/selection/example-order.ts";
import type { TrialDraw } from "./choose.ts";

/** Forced in or kept out by equal chance: the label that varies least. */
export const shownProbability = 0.5;

export interface ExploreShares {
  /** [0, 0.5] each. */
  trials: number;
  thresholds: number;
}

export interface Exploration {
  trial: TrialDraw | null;
  /** The tau tried instead; null: the one in force. */
  threshold: number | null;
}

/** What tau is drawn from, evenly; the one in force may be among them. */
export const triedThresholds: readonly number[] = [0.4, 0.45, 0.5, 0.55, 0.6];

const nothing: Exploration = { trial: null, threshold: null };

/** learned: helpfulness comes from a model; without one only trials are made. */
export function explore(random: Random, { trials, thresholds }: ExploreShares, learned: boolean): Exploration {
  const drawn = random();
  if (drawn < trials)
    return { ...nothing, trial: { pick: random(), shown: random() < shownProbability, probability: shownProbability } };
  if (learned && drawn < trials + thresholds)
    return { ...nothing, threshold: triedThresholds[Math.floor(random() * triedThresholds.length)] ?? null };
  return nothing;
}

/** The arm's order of examples, or on a share of requests, [0, 0.5], a random order. */
export function drawOrder(random: Random, share: number): (rule: ExampleOrder) => DrawnOrder & { order: ExampleOrder } {
  const isRandom = share > 0 && random() < share;
  return (rule) =>
    isRandom ? { order: "random", orderProbability: share } : { order: rule, orderProbability: 1 - share };
}
