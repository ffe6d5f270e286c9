// Gain at which an example replay run stops: where the expected saving, by isotonic regression of
// past replays, is below the cost (docs/replay.md). Units: answers of cost 1. Pure.
import { isotonicBlocks } from "../numeric/isotonic.ts";

/** Hours for which savings of an example replay count: two weeks. */
export const savingHours = 336;
/** Saved share of an example's gain, before there are enough past replays. */
export const priorShare = 0.25;
/** Past replays that are enough. */
export const enoughExampleReplays = 20;

export interface PastExampleReplay {
  gain: number;
  /** In savingHours hours; below 0: the new answer did worse. */
  saved: number;
}

export interface SavingCurve {
  from: "prior" | "past replays";
  replays: number;
  /** What replaying an example of this gain is expected to save; never falls with the gain. */
  expected(gain: number): number;
  /** The least gain whose expected saving is the cost of a replay; Infinity: none. */
  cutOff(cost: number): number;
}

export function savingCurve(past: readonly PastExampleReplay[]): SavingCurve {
  const known = past.filter(({ gain, saved }) => Number.isFinite(saved) && gain >= 0 && Number.isFinite(gain));
  const slope = priorShare * savingHours;
  if (known.length < enoughExampleReplays)
    return {
      from: "prior",
      replays: known.length,
      expected: (gain) => slope * gain,
      cutOff: (cost) => Math.max(0, cost) / slope,
    };
  const blocks = isotonicBlocks(known.map(({ gain, saved }) => ({ x: gain, y: saved, weight: 1 })));
  // Without gain there is nothing to save; from there the curve goes from block to block, flat
  // after the last: nothing is known there.
  const corners = [{ x: 0, y: 0 }, ...blocks.filter(({ x }) => x > 0).map(({ x, y }) => ({ x, y: Math.max(0, y) }))];
  return {
    from: "past replays",
    replays: known.length,
    expected(gain) {
      const next = corners.findIndex(({ x }) => x > gain);
      if (next === 0) return 0;
      if (next === -1) return corners.at(-1)!.y;
      return between(corners[next - 1]!, corners[next]!, "x", gain);
    },
    cutOff(cost) {
      if (cost <= 0) return 0;
      const next = corners.findIndex(({ y }) => y >= cost);
      return next === -1 ? Infinity : between(corners[next - 1]!, corners[next]!, "y", cost);
    },
  };
}

interface Corner {
  x: number;
  y: number;
}

/** The other coordinate of the point between two corners that has `value` on this axis. */
function between(a: Corner, b: Corner, axis: "x" | "y", value: number): number {
  const other = axis === "x" ? "y" : "x";
  return a[other] + ((value - a[axis]) / (b[axis] - a[axis])) * (b[other] - a[other]);
}
