// The exact 0/1 knapsack by dynamic programming, for whole weights: what the greedy choice of
// algorithms/selection/knapsack.ts is measured against. Time and memory grow with items times
// capacity, so it is for tests, benchmarks and a few large items.
import type { KnapsackItem } from "../../algorithms/selection/knapsack.ts";

/**
 * Indexes of the items to keep, ascending. Items are taken in their order where that is strictly
 * better; what is worth nothing is never kept. Throws RangeError for a weight that is not whole.
 */
export function exactKnapsack(items: readonly KnapsackItem[], capacity: number): number[] {
  const room = Math.floor(capacity);
  const best = new Float64Array(room + 1);
  const taken = items.map(({ value, weight }, index) => {
    if (!Number.isInteger(weight) || weight < 0)
      throw new RangeError(`item ${index} weighs ${weight}: the exact knapsack takes whole weights >= 0`);
    const takes = new Uint8Array(room + 1);
    if (value <= 0) return takes;
    for (let left = room; left >= weight; left--) {
      const with_ = best[left - weight]! + value;
      if (with_ <= best[left]!) continue;
      best[left] = with_;
      takes[left] = 1;
    }
    return takes;
  });
  const chosen: number[] = [];
  let left = room;
  for (let index = items.length - 1; index >= 0; index--) {
    if (taken[index]![left] === 0) continue;
    chosen.push(index);
    left -= items[index]!.weight;
  }
  return chosen.reverse();
}
