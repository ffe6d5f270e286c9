// What answers of a log are worth, and policies that need no learning: worth = score - cost weight
// x price, where a price of 1 is the mean cost of the most expensive arm. Pure.
import type { MixedLog } from "./log.ts";

export interface Priced extends MixedLog {
  /** By row and arm; null: no answer. */
  prices: (number | null)[][];
  /** Mean price of each arm, [0, 1]: what the router knows of it. */
  armCosts: number[];
}

export const costWeights = [0, 0.1, 0.2, 0.3, 0.5, 0.7, 1] as const;

export function priced(log: MixedLog): Priced {
  const meanOf = (arm: number): number => {
    const known = log.rows.flatMap(({ costs }) => costs[arm] ?? []);
    return known.length === 0 ? 0 : known.reduce((sum, cost) => sum + cost, 0) / known.length;
  };
  const means = log.arms.map((_, arm) => meanOf(arm));
  const unit = Math.max(...means);
  const scaled = (cost: number): number => (unit > 0 ? cost / unit : 0);
  return {
    ...log,
    prices: log.rows.map(({ scores, costs }) =>
      scores.map((score, arm) => (score === null ? null : scaled(costs[arm] ?? 0))),
    ),
    armCosts: means.map(scaled),
  };
}

/** By row and arm; NaN: no answer. */
export type Worth = Float64Array[];

export const worthAt = ({ rows, prices }: Priced, weight: number): Worth =>
  rows.map(({ scores }, i) =>
    Float64Array.from(scores, (score, arm) => (score === null ? Number.NaN : score - weight * prices[i]![arm]!)),
  );

/** Arms by their mean worth over the given rows, the best first; those without an answer last. */
export function ranked(worth: Worth, indices: readonly number[]): number[] {
  const arms = worth[0]?.length ?? 0;
  const means = Array.from({ length: arms }, (_, arm) => {
    let [sum, count] = [0, 0];
    for (const i of indices) {
      const value = worth[i]![arm]!;
      if (Number.isNaN(value)) continue;
      sum += value;
      count++;
    }
    return count === 0 ? -Infinity : sum / count;
  });
  return means.map((_, arm) => arm).sort((a, b) => means[b]! - means[a]! || a - b);
}

/** Worth of the first of these arms that has an answer to the row. */
export function firstOf(worth: Worth, row: number, order: readonly number[]): number {
  for (const arm of order) {
    const value = worth[row]![arm]!;
    if (!Number.isNaN(value)) return value;
  }
  return Number.NaN;
}

/** The arm, and where it has no answer the best of the others. */
export const constant = (arm: number, order: readonly number[]): number[] => [
  arm,
  ...order.filter((other) => other !== arm),
];

export const oracleOf = (values: Float64Array): number =>
  values.reduce((best, value) => (value > best ? value : best), -Infinity);

export function randomOf(values: Float64Array): number {
  const known = values.filter((value) => !Number.isNaN(value));
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}

/** Index of the largest value among those that are numbers. */
export function bestOf(values: ArrayLike<number>): number {
  let best = -1;
  for (let i = 0; i < values.length; i++) if (values[i]! > (best < 0 ? -Infinity : values[best]!)) best = i;
  return best;
}
