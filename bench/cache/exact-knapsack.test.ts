import fc from "fast-check";
import { expect, it } from "vitest";
import { knapsack } from "../../algorithms/selection/knapsack.ts";
import { exactKnapsack } from "./exact-knapsack.ts";

const items = fc.array(fc.record({ value: fc.nat(50), weight: fc.nat(12) }), { maxLength: 10 });
const valueOf = (all: readonly { value: number }[], chosen: readonly number[]): number =>
  chosen.reduce((sum, index) => sum + all[index]!.value, 0);

it("the exact knapsack is worth what the best of all subsets is, and the greedy one at least half of it", () => {
  fc.assert(
    fc.property(items, fc.nat(40), (all, capacity) => {
      let best = 0;
      for (let set = 0; set < 1 << all.length; set++) {
        const chosen = all.filter((_, i) => (set >> i) & 1);
        if (chosen.reduce((sum, { weight }) => sum + weight, 0) > capacity) continue;
        best = Math.max(
          best,
          chosen.reduce((sum, { value }) => sum + value, 0),
        );
      }
      const exact = exactKnapsack(all, capacity);
      expect(exact.reduce((sum, index) => sum + all[index]!.weight, 0)).toBeLessThanOrEqual(capacity);
      expect(valueOf(all, exact)).toBe(best);
      expect(valueOf(all, knapsack(all, capacity))).toBeGreaterThanOrEqual(best / 2);
    }),
  );
});

it("refuses weights that are not whole", () => {
  expect(() => exactKnapsack([{ value: 1, weight: 0.5 }], 4)).toThrow("item 0 weighs 0.5");
});
