import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reusabilityScore } from "./chunk-scores.ts";
import { cacheContextImpact, cacheFixOverhead, contextImpact, contextualisedTokens } from "./context-impact.ts";

describe("CCI", () => {
  it("is the sigmoid of a/b", () => {
    expect(cacheContextImpact(0, 1)).toBe(0.5);
    expect(cacheContextImpact(1, 1)).toBeCloseTo(0.7311, 4);
    expect(cacheContextImpact(0, 0)).toBe(0.5);
    expect(cacheContextImpact(1, 0)).toBe(1);
  });

  it("comes from normalised sums, averaged over layers", () => {
    // 2 tokens behind chunks of 4 and 1 tokens. a = (0.8+0.4)/(2*4) + (0.2+0.2)/(2*1) = 0.35; b =
    // 0.4/4 = 0.1, and in the other layer a = 0, b = 0.25.
    const found = contextImpact(
      [4, 1],
      [
        { inter: [1.2, 0.4], intra: 0.4 },
        { inter: [0, 0], intra: 1 },
      ],
      [0.5, 0.3],
    );
    expect(found.cci).toBeCloseTo(1 / (1 + Math.exp(-0.35 / 0.35)), 12);
    expect(found.inter[0]).toBeCloseTo(0.6, 12);
    expect(found.inter[1]).toBeCloseTo(0.2, 12);
    expect(found.ranking).toEqual([0, 1]);
  });

  it("is a half for a chunk cached alone, and lies in [0.5, 1]", () => {
    expect(contextImpact([], [{ inter: [], intra: 1 }], [0, 0])).toEqual({ cci: 0.5, inter: [], ranking: [0, 1] });
    const weight = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(weight, weight, fc.array(weight, { minLength: 1, maxLength: 9 }), (inter, intra, before) => {
        const { cci, ranking } = contextImpact([3], [{ inter: [inter], intra }], before);
        expect(cci).toBeGreaterThanOrEqual(0.5);
        expect(cci).toBeLessThanOrEqual(1);
        expect(ranking.map((token) => before[token]!)).toEqual([...before].sort((a, b) => b - a));
      }),
    );
  });

  it("refuses sums of another shape", () => {
    expect(() => contextImpact([4], [{ inter: [1, 1], intra: 1 }], [0])).toThrow(
      "on 2 chunks does not fit a prefix of 1",
    );
    expect(() => contextImpact([4], [], [0])).toThrow(RangeError);
    expect(() => contextImpact([4], [{ inter: [1], intra: 1 }], [])).toThrow(RangeError);
  });
});

describe("CFO", () => {
  it("is clipped, and without overlap at least alpha/2", () => {
    expect(cacheFixOverhead(3, 0.5)).toBe(1);
    expect(cacheFixOverhead(0.5, reusabilityScore({ cci: 0.5, prefix: [] }, [{ id: "1", tokens: 10 }]))).toBe(0.25);
  });

  it("says which tokens: the first of the ranking, rounded up", () => {
    const ranking = Array.from({ length: 30 }, (_, index) => 29 - index);
    expect(contextualisedTokens(ranking, 0.1)).toEqual([29, 28, 27]);
    expect(contextualisedTokens(ranking, 0.11)).toHaveLength(4);
    expect(contextualisedTokens(ranking, 0)).toEqual([]);
    expect(contextualisedTokens(ranking, 1)).toHaveLength(30);
  });
});
