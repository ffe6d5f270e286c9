import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { knapsack, type KnapsackItem } from "./knapsack.ts";

const valueOf = (items: readonly KnapsackItem[], chosen: readonly number[]): number =>
  chosen.reduce((sum, index) => sum + (items[index]?.value ?? NaN), 0);
const weightOf = (items: readonly KnapsackItem[], chosen: readonly number[]): number =>
  chosen.reduce((sum, index) => sum + (items[index]?.weight ?? NaN), 0);

function best(items: readonly KnapsackItem[], capacity: number): number {
  let most = 0;
  for (let set = 0; set < 2 ** items.length; set++) {
    const chosen = items.map((_, index) => index).filter((index) => (set >> index) & 1);
    if (weightOf(items, chosen) <= capacity) most = Math.max(most, valueOf(items, chosen));
  }
  return most;
}

const items = fc.array(fc.record({ value: fc.nat(50), weight: fc.nat(20) }), { maxLength: 10 });

describe("knapsack", () => {
  it("takes the densest and goes on past what does not fit", () => {
    expect(
      knapsack(
        [
          { value: 6, weight: 3 },
          { value: 10, weight: 6 },
          { value: 1, weight: 1 },
        ],
        5,
      ),
    ).toEqual([0, 2]);
  });
  it("prefers one heavy treasure to many light trifles", () => {
    expect(
      knapsack(
        [
          { value: 2, weight: 1 },
          { value: 100, weight: 100 },
        ],
        100,
      ),
    ).toEqual([1]);
  });
  it("keeps what weighs nothing, and everything where there is room", () => {
    expect(knapsack([{ value: 0, weight: 0 }], 0)).toEqual([0]);
    expect(
      knapsack(
        [
          { value: 0, weight: 5 },
          { value: 1, weight: 5 },
        ],
        10,
      ),
    ).toEqual([0, 1]);
  });
  it("refuses what is no number", () => {
    expect(() => knapsack([{ value: NaN, weight: 1 }], 1)).toThrow(RangeError);
    expect(() => knapsack([{ value: 1, weight: -1 }], 1)).toThrow(/item 0/);
  });
  it("never weighs too much and is worth at least half of the best", () => {
    fc.assert(
      fc.property(items, fc.nat(60), (given, capacity) => {
        const chosen = knapsack(given, capacity);
        expect(new Set(chosen).size).toBe(chosen.length);
        expect(weightOf(given, chosen)).toBeLessThanOrEqual(capacity);
        expect(2 * valueOf(given, chosen)).toBeGreaterThanOrEqual(best(given, capacity));
      }),
    );
  });
});
