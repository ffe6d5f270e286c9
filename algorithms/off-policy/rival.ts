// Compares the logged choices with always choosing one arm, from sums over the same decisions: the
// difference of two SNIPS means with its interval (delta method). Pure.
import { normalQuantile } from "../numeric/gaussian.ts";

/** Sums over rated decisions: reward r, the arm's importance weight w, h = 1 / P(rated). */
export interface RivalSums {
  weight: number;
  weightReward: number;
  /** Sums of w^2, w^2 r, w^2 r^2. */
  squares: readonly [number, number, number];
  heard: number;
  heardReward: number;
  heardSquares: readonly [number, number, number];
  /** Sums of w h, w h r, w h r^2. */
  both: readonly [number, number, number];
}

export interface Rival {
  /** Mean reward of the logged choices, and of the arm (SNIPS). */
  logged: number;
  always: number;
  /** logged less always; its interval is difference -+ reach. */
  difference: number;
  reach: number;
}

const error = 0.05;

/**
 * null: the arm was never chosen, or nothing is rated. The intervals of all `arms` (1 or more) hold
 * together with 95 % (Bonferroni: Dunn, Multiple comparisons among means, JASA 1961). So that of
 * any arm holds, however it was picked by the same ratings, such as the best (Berk et al., Valid
 * post-selection inference, Annals of Statistics 2013).
 */
export function rivalOf(
  { weight, weightReward, squares, heard, heardReward, heardSquares, both }: RivalSums,
  arms: number,
): Rival | null {
  if (!(weight > 0) || !(heard > 0)) return null;
  const [always, logged] = [weightReward / weight, heardReward / heard];
  // Terms of a decision: h (r - logged) / H - w (r - always) / W; they add up to 0.
  const spread = ([one, r, rr]: readonly [number, number, number], a: number, b: number): number =>
    rr - (a + b) * r + a * b * one;
  const variance =
    spread(heardSquares, logged, logged) / (heard * heard) +
    spread(squares, always, always) / (weight * weight) -
    (2 * spread(both, logged, always)) / (heard * weight);
  const z = normalQuantile(1 - error / 2 / arms);
  return { logged, always, difference: logged - always, reach: z * Math.sqrt(Math.max(0, variance)) };
}

export type RivalVerdict = "better" | "worse" | "unclear" | "few";

/** With fewer effective decisions the interval is too narrow to be trusted. */
const leastEffective = 30;

/** Whether the choices earned more than the arm; effective: effective sample size of the arm. */
export const verdictOf = ({ difference, reach }: Rival, effective: number): RivalVerdict => {
  if (!(effective >= leastEffective)) return "few";
  return reach > 0 && difference > reach ? "better" : reach > 0 && difference < -reach ? "worse" : "unclear";
};
