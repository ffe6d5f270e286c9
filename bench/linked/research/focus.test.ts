import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { focusedChunks, focusedCount, highest, largestGapCount, preloadDepth } from "./focus.ts";

describe("focused chunks", () => {
  it("cuts where the entropy of the gaps grows most", () => {
    expect(focusedCount([0.5, 0.1, 0.09, 0.08, 0.07])).toBe(1);
    expect(focusedCount([0.5, 0.48, 0.1, 0.08, 0.07])).toBe(2);
    expect(focusedCount([0.5, 0.45, 0.42, 0.1, 0.05])).toBe(3);
  });

  it("takes all where there is nothing to cut", () => {
    expect(focusedCount([0.9, 0.1])).toBe(2);
    expect(focusedCount([0.2, 0.2, 0.2])).toBe(3);
    expect(largestGapCount([0.2, 0.2, 0.2])).toBe(3);
    expect(focusedCount([])).toBe(0);
  });

  it("beside it stands the largest gap", () => {
    expect(largestGapCount([0.5, 0.1, 0.09, 0.08, 0.07])).toBe(1);
    expect(largestGapCount([0.1, 0.5, 0.05, 0.45, 0.42])).toBe(3);
  });

  it("needs the same set for some layers", () => {
    const a = [0.5, 0.1, 0.09, 0.08, 0.07];
    const b = [0.07, 9, 0.09, 0.08, 0.1];
    expect(focusedChunks([a, a, a, a], 3)).toEqual({ chunks: [0], layers: 3 });
    expect(focusedChunks([a, b, b, b], 3)).toEqual({ chunks: [1], layers: 4 });
    expect(focusedChunks([a, b], 3)).toEqual({ chunks: [1], layers: 2 });
    expect(() => focusedChunks([], 1)).toThrow(RangeError);
  });

  it("leaves at least one chunk focused and, of three or more with gaps, at least one not", () => {
    const scores = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 3, maxLength: 12 });
    fc.assert(
      fc.property(scores, (values) => {
        for (const count of [focusedCount(values), largestGapCount(values)]) {
          expect(count).toBeGreaterThanOrEqual(1);
          const chosen = highest(values, count);
          const least = Math.min(...chosen.map((chunk) => values[chunk]!));
          for (const [chunk, value] of values.entries())
            if (!chosen.includes(chunk)) expect(value).toBeLessThanOrEqual(least);
        }
        expect(focusedCount(values) <= values.length - 2 || focusedCount(values) === values.length).toBe(true);
      }),
    );
  });
});

describe("preload depth", () => {
  it("lets the rest load while the first layers are computed", () => {
    expect(preloadDepth(5, 1, 2)).toBe(3);
    expect(preloadDepth(32, 0.258, 1)).toBe(24);
    expect(preloadDepth(32, 2, 1)).toBe(1);
    expect(preloadDepth(32, 0, 1)).toBe(32);
  });
});
