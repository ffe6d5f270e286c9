// Slope of preferences per unit of quality (docs/design/routing.md, Feedback and rewards): maximum
// a posteriori given the rewards' posterior, with a weak prior about 1. Pure, bounded steps.
import type { Posterior } from "./bandit.ts";
import { preferenceEvidence, type PreferenceRow } from "./preferences.ts";

/** Standard deviation of the logarithm: a slope of e or 1 / e is one deviation away. */
const priorDeviation = 1;
/** Range of slopes, as powers of 2. */
const least = -2;
const most = 5;
/** The first rows are enough to know one number by, and each slope takes a fit. */
const mostRows = 1_000;

/** Rows newest first. Throws as addPreferences does. */
export function estimateSlope(posteriors: readonly Posterior[], rows: readonly PreferenceRow[]): number {
  const used = rows.filter(({ weight }) => weight > 0).slice(0, mostRows);
  if (used.length === 0) return 1;
  const worth = (power: number): number =>
    preferenceEvidence(posteriors, used, 2 ** power) - (power * Math.LN2) ** 2 / (2 * priorDeviation ** 2);
  // One beyond each bound, for the parabola at the bounds.
  const tried = Array.from({ length: most - least + 3 }, (_, i) => worth(least - 1 + i));
  const inside = tried.slice(1, -1);
  const at = inside.indexOf(Math.max(...inside));
  const [before, best, after] = tried.slice(at) as [number, number, number];
  // The top of the parabola through the best and its neighbours.
  const bend = before - 2 * best + after;
  const shift = bend < 0 ? (before - after) / (2 * bend) : 0;
  return 2 ** Math.max(least, Math.min(most, least + at + Math.max(-0.5, Math.min(0.5, shift))));
}
