// 0/1 knapsack, better the longer it may take: the greedy choice first, then branch and bound over
// the items around the break of the density order (Pisinger, An expanding-core algorithm for the
// exact 0-1 knapsack problem, 1995). Whenever it is stopped it has the best choice so far and an
// upper bound on any choice; where the search ends by itself the choice is optimal. Pure: the
// caller's `more` holds the clock.
import { knapsack, type KnapsackItem } from "./knapsack.ts";

export interface AnytimeChoice {
  /** Indexes of the items to keep, ascending. */
  kept: number[];
  value: number;
  /** No choice is worth more; equal to value where the search came to its end. */
  bound: number;
  /** Branches looked at. */
  steps: number;
}

/** Branches between two calls of `more`. */
const askEvery = 1_024;
/** Items that differ from the break solution at once; behind it nothing is proven. */
const mostDepth = 2_000;
/** Sums of fractions are not exact: a gain below this share is none. */
const rounding = 1e-12;

/** Throws RangeError for NaN and negative numbers, as knapsack does. */
export function anytimeKnapsack(
  items: readonly KnapsackItem[],
  capacity: number,
  more: () => boolean = () => true,
): AnytimeChoice {
  const greedy = knapsack(items, capacity);
  const order = items
    .map((item, index) => ({ ...item, index }))
    .filter(({ value, weight }) => value > 0 && weight > 0 && weight <= capacity)
    .sort((a, b) => b.value * a.weight - a.value * b.weight || a.index - b.index);
  // What weighs nothing is always kept.
  const free = items.reduce((sum, { value, weight }) => sum + (weight === 0 ? value : 0), 0);

  let breakAt = 0;
  let breakValue = 0;
  let breakWeight = 0;
  while (breakAt < order.length && breakWeight + order[breakAt]!.weight <= capacity) {
    breakValue += order[breakAt]!.value;
    breakWeight += order[breakAt]!.weight;
    breakAt++;
  }
  const next = order[breakAt];
  const relaxed = breakValue + (next === undefined ? 0 : ((capacity - breakWeight) * next.value) / next.weight);

  const valueOf = (kept: readonly number[]): number => kept.reduce((sum, index) => sum + items[index]!.value, 0);
  let best = valueOf(greedy) - free;
  /** Positions in the order whose choice differs from the break solution; null: greedy is best. */
  let changes: number[] | null = null;
  const toggled: number[] = [];
  let steps = 0;
  let whole = true;
  let stopped = false;

  /** Whether a branch whose best is `possible` may improve on what was found. */
  const hopeful = (possible: number): boolean => possible > best + rounding * Math.max(best, 1e-300);

  function search(value: number, weight: number, lower: number, upper: number): void {
    if (steps % askEvery === 0 && !more()) stopped = true;
    steps++;
    if (toggled.length >= mostDepth) whole = false;
    if (stopped || toggled.length >= mostDepth) return;
    if (weight <= capacity) {
      if (hopeful(value)) {
        best = value;
        changes = [...toggled];
      }
      for (let at = upper; at < order.length && !stopped; at++) {
        const item = order[at]!;
        if (!hopeful(value + ((capacity - weight) * item.value) / item.weight)) return;
        toggled.push(at);
        search(value + item.value, weight + item.weight, lower, at + 1);
        toggled.pop();
      }
      return;
    }
    for (let at = lower; at >= 0 && !stopped; at--) {
      const item = order[at]!;
      if (!hopeful(value - ((weight - capacity) * item.value) / item.weight)) return;
      toggled.push(at);
      search(value - item.value, weight - item.weight, at - 1, upper);
      toggled.pop();
    }
  }
  if (order.length > 0) search(breakValue, breakWeight, breakAt - 1, breakAt);

  const kept = changes === null ? greedy : keptOf(changes);
  const value = valueOf(kept);
  const proven = whole && !stopped;
  return { kept, value, bound: proven ? value : Math.max(value, relaxed + free), steps };

  /** The break solution with these items the other way round, and what fits and costs nothing. */
  function keptOf(different: readonly number[]): number[] {
    const other = new Set(different);
    const chosen = new Set<number>();
    let left = capacity;
    for (const [at, { index, weight }] of order.entries()) {
      if (at < breakAt === other.has(at)) continue;
      chosen.add(index);
      left -= weight;
    }
    for (const [index, { value: worth, weight }] of items.entries()) {
      if (chosen.has(index) || weight > left || (worth > 0 && weight > 0)) continue;
      chosen.add(index);
      left -= weight;
    }
    return [...chosen].sort((a, b) => a - b);
  }
}
