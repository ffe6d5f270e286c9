import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anytimeKnapsack } from "./anytime-knapsack.ts";
import { knapsack, type KnapsackItem } from "./knapsack.ts";

/** Every choice there is. */
function bestOf(items: readonly KnapsackItem[], capacity: number): number {
  let best = 0;
  for (let set = 0; set < 1 << items.length; set++) {
    const of = (what: keyof KnapsackItem): number =>
      items.reduce((sum, item, i) => sum + (set & (1 << i) ? item[what] : 0), 0);
    if (of("weight") <= capacity) best = Math.max(best, of("value"));
  }
  return best;
}
const weightOf = (items: readonly KnapsackItem[], kept: readonly number[]): number =>
  kept.reduce((sum, index) => sum + items[index]!.weight, 0);

const anItem = fc.record({ value: fc.integer({ min: 0, max: 40 }), weight: fc.integer({ min: 0, max: 40 }) });

describe("anytime knapsack", () => {
  it("finds the best there is when it is let, and says that it did", () => {
    fc.assert(
      fc.property(fc.array(anItem, { maxLength: 11 }), fc.integer({ min: 0, max: 150 }), (items, capacity) => {
        const found = anytimeKnapsack(items, capacity);
        expect(found.value).toBe(bestOf(items, capacity));
        expect(found.bound).toBe(found.value);
        expect(weightOf(items, found.kept)).toBeLessThanOrEqual(capacity);
        expect(found.kept.reduce((sum, index) => sum + items[index]!.value, 0)).toBe(found.value);
        expect([...new Set(found.kept)].sort((a, b) => a - b)).toEqual(found.kept);
      }),
    );
  });

  it("never does worse than greedy, however soon it is stopped, nor better than its bound", () => {
    const some = fc.array(
      fc.record({
        value: fc.double({ min: 0, max: 5, noNaN: true }),
        weight: fc.double({ min: 0, max: 900, noNaN: true }),
      }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(some, fc.double({ min: 0, max: 9_000, noNaN: true }), fc.nat(3), (items, capacity, asks) => {
        let asked = 0;
        const found = anytimeKnapsack(items, capacity, () => asked++ < asks);
        const greedy = knapsack(items, capacity).reduce((sum, index) => sum + items[index]!.value, 0);
        expect(found.value).toBeGreaterThanOrEqual(greedy * (1 - 1e-9));
        expect(found.bound).toBeGreaterThanOrEqual(found.value);
        expect(weightOf(items, found.kept)).toBeLessThanOrEqual(capacity + 1e-6);
        expect(anytimeKnapsack(items, capacity, bounded(200)).value).toBeLessThanOrEqual(found.bound * (1 + 1e-9));
      }),
      { numRuns: 200 },
    );
  });

  it("stops where all items are alike, and keeps as many as fit", () => {
    const items = Array.from({ length: 5_000 }, () => ({ value: 1, weight: 7 }));
    const found = anytimeKnapsack(items, 7 * 1_234 + 3, bounded(50));
    expect(found.kept).toHaveLength(1_234);
    expect(found.bound).toBeLessThan(1_235);
  });
});

const bounded =
  (asks: number, asked = { times: 0 }) =>
  (): boolean =>
    asked.times++ < asks;
