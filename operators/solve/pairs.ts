// Comparisons added to what the rewards say of the arms: rows older than the newest count less, as
// rewards do, and rows of a model that an arm no longer has count nothing. Pure.
import type { Posterior } from "../../algorithms/routing/bandit.ts";
import { addPreferences, type PreferenceRow } from "../../algorithms/routing/preferences.ts";
import { estimateSlope } from "../../algorithms/routing/preference-slope.ts";
import type { ArmPosterior } from "../../state/policies/router.ts";
import type { Pair } from "../learnt.ts";

export interface PairsAdded {
  arms: Map<string, ArmPosterior>;
  /** Comparisons that were used. */
  used: number;
  /** Milliseconds since the epoch; null where none was used. */
  newestAt: number | null;
  /** How decided preferences are for a difference in quality of 1; null where none was used. */
  slope: number | null;
}

export interface PairOptions {
  /** Posterior of an arm that only comparisons know. */
  unknown: Posterior;
  halfLifeHours: number;
  /** Seconds since the epoch, of the newest hour with a reward; null: none. */
  newestHour: number | null;
}

/** Pairs newest first. Throws RangeError where they can't be added. */
export function addPairs(
  arms: ReadonlyMap<string, ArmPosterior>,
  pairs: readonly Pair[],
  { unknown, halfLifeHours, newestHour }: PairOptions,
): PairsAdded {
  const known = new Map(arms);
  // Newest first: an arm that no reward knows has the model of its newest comparison.
  for (const { first, firstModel, second, secondModel } of pairs)
    for (const [arm, model] of [
      [first, firstModel],
      [second, secondModel],
    ] as const)
      if (!known.has(arm)) known.set(arm, { model, count: 0, ...unknown });
  const names = [...known.keys()].toSorted();
  const indexes = new Map(names.map((name, at) => [name, at]));
  const current = pairs.filter(
    (pair) => known.get(pair.first)?.model === pair.firstModel && known.get(pair.second)?.model === pair.secondModel,
  );
  if (current.length === 0) return { arms: new Map(arms), used: 0, newestAt: null, slope: null };
  const newest = newestHour ?? Math.max(...current.map(({ hour }) => hour));
  const rows = current.map((pair): PreferenceRow => ({
    ...pair,
    first: indexes.get(pair.first)!,
    second: indexes.get(pair.second)!,
    weight: pair.weight * 2 ** (-Math.max(0, newest - pair.hour) / 3_600 / halfLifeHours),
  }));
  const weights = new Map<number, number>();
  for (const { first, second, weight } of rows)
    for (const at of [first, second]) weights.set(at, (weights.get(at) ?? 0) + weight);
  const believed = names.map((name) => known.get(name)!);
  const slope = estimateSlope(believed, rows);
  const added = addPreferences(believed, rows, slope);
  const next = names.flatMap((name, at): [string, ArmPosterior][] => {
    const before = known.get(name)!;
    const weight = weights.get(at) ?? 0;
    // Known only from comparisons of a model that it no longer has.
    if (!arms.has(name) && weight === 0) return [];
    const { mean, factor } = added[at]!;
    return [[name, { model: before.model, count: before.count + weight, mean, factor }]];
  });
  return { arms: new Map(next), used: current.length, newestAt: Math.max(...current.map(({ at }) => at)), slope };
}
