// Slope of preferences per unit of quality (docs/learning.md, Preferences): maximum a posteriori
// given the rewards' posterior, with a weak prior about 1. Pure, bounded steps.
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
  const tried = Array.from({ length: most - least + 1 }, (_, i) => ({ at: least + i, worth: worth(least + i) }));
  const best = tried.reduce((one, other) => (other.worth > one.worth ? other : one));
  const [before, after] = [tried[best.at - least - 1], tried[best.at - least + 1]];
  if (before === undefined || after === undefined) return 2 ** best.at;
  // The top of the parabola through the best and its neighbours.
  const bend = before.worth - 2 * best.worth + after.worth;
  const shift = bend < 0 ? (before.worth - after.worth) / (2 * bend) : 0;
  return 2 ** (best.at + Math.max(-0.5, Math.min(0.5, shift)));
}
