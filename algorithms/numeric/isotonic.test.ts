import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isotonicBlocks, type WeightedPoint } from "./isotonic.ts";

const point = fc.record({
  x: fc.integer({ min: 0, max: 12 }),
  y: fc.double({ min: -5, max: 5, noNaN: true }),
  weight: fc.integer({ min: 1, max: 4 }),
});
const points = fc.array(point, { minLength: 1, maxLength: 30 });
const total = (all: readonly WeightedPoint[], of: (one: WeightedPoint) => number): number =>
  all.reduce((sum, one) => sum + one.weight * of(one), 0);

describe("isotonic regression", () => {
  it("pools what falls", () => {
    const fitted = isotonicBlocks([1, 3, 2, 4].map((y, x) => ({ x, y, weight: 1 })));
    expect(fitted).toEqual([
      { x: 0, y: 1, weight: 1 },
      { x: 1.5, y: 2.5, weight: 2 },
      { x: 3, y: 4, weight: 1 },
    ]);
    expect(isotonicBlocks([])).toEqual([]);
  });
  it("ascends, and keeps all weights, the mean of x and the mean of y", () => {
    fc.assert(
      fc.property(points, (given) => {
        const blocks = isotonicBlocks(given);
        for (const [i, block] of blocks.entries()) {
          const before = blocks[i - 1];
          if (before !== undefined) expect(block.y > before.y && block.x > before.x).toBe(true);
        }
        for (const of of [() => 1, ({ x }: WeightedPoint) => x, ({ y }: WeightedPoint) => y])
          expect(total(blocks, of)).toBeCloseTo(total(given, of), 6);
      }),
    );
  });
  it("does not depend on the order of the points", () => {
    fc.assert(
      fc.property(points, fc.infiniteStream(fc.nat()), (given, keys) => {
        const shuffled = given
          .map((one) => ({ one, key: keys.next().value }))
          .sort((a, b) => a.key - b.key)
          .map(({ one }) => one);
        const [a, b] = [isotonicBlocks(given), isotonicBlocks(shuffled)];
        expect(b).toHaveLength(a.length);
        for (const [i, block] of a.entries()) expect(b[i]!.y).toBeCloseTo(block.y, 9);
      }),
    );
  });
  it("is nearer to the points than other ascending functions", () => {
    const steps = fc.array(fc.double({ min: 0, max: 2, noNaN: true }), { minLength: 13, maxLength: 13 });
    fc.assert(
      fc.property(points, steps, fc.double({ min: -6, max: 2, noNaN: true }), (given, rises, start) => {
        const heights = rises.map((_, x) => start + rises.slice(0, x).reduce((sum, rise) => sum + rise, 0));
        const other = total(given, ({ x, y }) => (y - heights[x]!) ** 2);
        // A point belongs to the block that pooled it: blocks hold consecutive points by weight.
        const blocks = isotonicBlocks(given);
        const sorted = [...given].sort((a, b) => a.x - b.x);
        let [at, taken, own] = [0, 0, 0];
        for (const one of sorted) {
          while (taken >= blocks[at]!.weight) [at, taken] = [at + 1, 0];
          own += one.weight * (one.y - blocks[at]!.y) ** 2;
          taken += one.weight;
        }
        expect(own).toBeLessThanOrEqual(other + 1e-9);
      }),
    );
  });
});
