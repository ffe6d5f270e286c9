// Privacy cost of Gaussian noise: mu = sensitivity / deviation composes by root of squares (Dong,
// Roth, Su 2022, 3.3); (epsilon, delta) by Balle and Wang 2018, theorem 8. Pure.
import { normalCdf } from "../numeric/gaussian.ts";

export interface Privacy {
  /** > 0. */
  epsilon: number;
  /** In (0, 1). */
  delta: number;
}

/** The least delta for this epsilon. mu > 0. */
export const deltaOf = (epsilon: number, mu: number): number =>
  Math.max(0, normalCdf(mu / 2 - epsilon / mu) - Math.exp(epsilon) * normalCdf(-mu / 2 - epsilon / mu));

/** The least epsilon for this delta, to a relative error of 1e-9; 0 for mu = 0. */
export function epsilonOf(delta: number, mu: number): number {
  if (mu === 0) return 0;
  let most = 1;
  while (deltaOf(most, mu) > delta) most *= 2;
  return upperRoot(0, most, (epsilon) => deltaOf(epsilon, mu) <= delta);
}

/** The largest mu that gives (epsilon, delta)-privacy, to a relative error of 1e-9. */
export function muOf({ epsilon, delta }: Privacy): number {
  let most = 1;
  while (deltaOf(epsilon, most) <= delta) most *= 2;
  // The least noise that is enough, as the end that is certain to be private.
  return 1 / upperRoot(1 / most, 2 ** 60, (noise) => deltaOf(epsilon, 1 / noise) <= delta);
}

/** The least x that holds, between one that does not and one that does. */
function upperRoot(low: number, high: number, holds: (x: number) => boolean): number {
  let [below, above] = [low, high];
  while (above - below > 1e-9 * above) {
    const middle = below === 0 || above / below < 4 ? (below + above) / 2 : Math.sqrt(below * above);
    if (holds(middle)) above = middle;
    else below = middle;
  }
  return above;
}
