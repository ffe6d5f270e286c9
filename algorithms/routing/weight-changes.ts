// How a version of the router's weights differs from the one before: by arm and feature, the change
// of the predicted reward where the feature is 1. Pure.
import { solveLower, type Numbers } from "../numeric/matrix.ts";
import type { Posterior } from "./bandit.ts";
import { FEATURE_NAMES } from "./features.ts";

export interface WeightChange {
  arm: string;
  /** One of FEATURE_NAMES without those of the embedding, which mean nothing to a reader. */
  feature: string;
  before: number;
  now: number;
  /** Standard deviation of the weight as it is now. */
  deviation: number;
}

type Arms = ReadonlyMap<string, Posterior>;

/** The largest first. Arms that only one of the versions knows are left out. */
export function weightChanges(before: Arms, now: Arms, most: number): WeightChange[] {
  const changes = [...now].flatMap(([arm, { mean, factor }]) => {
    const known = before.get(arm);
    if (known === undefined) return [];
    return FEATURE_NAMES.flatMap((feature, i) => {
      const [old, weight] = [known.mean[i], mean[i]];
      if (feature.startsWith("embedding") || old === undefined || weight === undefined || old === weight) return [];
      return [{ arm, feature, before: old, now: weight, factor, i }];
    });
  });
  return changes
    .sort((a, b) => Math.abs(b.now - b.before) - Math.abs(a.now - a.before))
    .slice(0, most)
    .map(({ factor, i, ...change }) => ({
      ...change,
      deviation: deviationOf(factor, i, now.get(change.arm)!.mean.length),
    }));
}

/** The covariance is the inverse of L L^T: its i-th diagonal is the squared norm of L^-1 e_i. */
function deviationOf(factor: Numbers, i: number, n: number): number {
  const unit = new Float64Array(n);
  unit[i] = 1;
  return Math.sqrt(solveLower(factor, unit).reduce((sum, value) => sum + value * value, 0));
}
