import fc from "fast-check";
import { expect, test } from "vitest";
import { groupByLength } from "./groups.ts";

const costOf = (groups: readonly number[][], lengths: readonly number[]): number =>
  groups.reduce((sum, group) => sum + 16 + group.length * Math.max(...group.map((i) => lengths[i]!)), 0);

test("texts of like length share a call; a long one does not make short ones long", () => {
  expect(groupByLength([10, 11, 10, 12])).toEqual([[0, 2, 1, 3]]);
  expect(groupByLength([10, 256, 11])).toEqual([[1], [0, 2]]);
  expect(groupByLength([5])).toEqual([[0]]);
  expect(groupByLength([])).toEqual([]);
});

test("every text is in one group, and neither one call for all nor one for each is cheaper", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 2, max: 256 }), { minLength: 1, maxLength: 32 }), (lengths) => {
      const groups = groupByLength(lengths);
      const all = lengths.map((_, i) => i);
      expect(groups.flat().sort((a, b) => a - b)).toEqual(all);
      const cost = costOf(groups, lengths);
      expect(cost).toBeLessThanOrEqual(costOf([all], lengths));
      expect(cost).toBeLessThanOrEqual(
        costOf(
          all.map((i) => [i]),
          lengths,
        ),
      );
    }),
  );
});
