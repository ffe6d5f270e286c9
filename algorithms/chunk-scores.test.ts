import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  cacheContextImpact,
  cacheFixOverhead,
  contextImpact,
  contextualisedTokens,
  knownShare,
  orderPenalty,
  prefixOverlap,
  reusabilityScore,
} from "./chunk-scores.ts";

const old = (...chunks: [string, number][]) => chunks.map(([id, inter]) => ({ id, inter }));
const now = (...ids: string[]) => ids.map((id) => ({ id, tokens: 10 }));

describe("CCI", () => {
  it("is the sigmoid of a/b", () => {
    expect(cacheContextImpact(0, 1)).toBe(0.5);
    expect(cacheContextImpact(1, 1)).toBeCloseTo(0.7311, 4);
    expect(cacheContextImpact(0, 0)).toBe(0.5);
    expect(cacheContextImpact(1, 0)).toBe(1);
  });

  it("comes from normalised sums, averaged over layers", () => {
    // 2 tokens behind chunks of 4 and 1 tokens. a = (0.8+0.4)/(2*4) + (0.2+0.2)/(2*1) = 0.35; b = 0.4/4 = 0.1, and in the other layer a = 0, b = 0.25.
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

describe("beta", () => {
  it("is the share of the old prefix's attention that is there again", () => {
    expect(prefixOverlap(old(["1", 3], ["2", 1]), ["1", "5"])).toBe(0.75);
    expect(prefixOverlap(old(["1", 3], ["2", 1]), ["2", "1"])).toBe(1);
    expect(prefixOverlap(old(["1", 3]), [])).toBe(0);
  });

  it("is 0 for a chunk cached alone unless it is first again", () => {
    expect(prefixOverlap([], ["1"])).toBe(0);
    expect(prefixOverlap([], [])).toBe(1);
  });

  it("counts chunks where none was looked at", () => {
    expect(prefixOverlap(old(["1", 0], ["2", 0]), ["2"])).toBe(0.5);
  });
});

describe("gamma", () => {
  it("is the share of pairs in another order", () => {
    expect(orderPenalty(["1", "2", "3"], ["3", "2", "1"])).toBe(1);
    expect(orderPenalty(["1", "2", "3"], ["2", "1", "3"])).toBeCloseTo(1 / 3, 12);
    expect(orderPenalty(["1", "2", "3"], ["1", "2", "3"])).toBe(0);
    expect(orderPenalty(["1", "2", "3"], ["9", "3", "8", "1"])).toBe(1);
  });

  it("is 0 for fewer than two common chunks", () => {
    expect(orderPenalty(["1", "2"], ["2", "3"])).toBe(0);
    expect(orderPenalty([], [])).toBe(0);
  });

  it("goes from 0 to 1, and reversing the new order turns it round", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(20), { minLength: 2 }), fc.infiniteStream(fc.double()), (chunks, keys) => {
        const ids = chunks.map(String);
        const shuffled = ids
          .map((id) => ({ id, key: keys.next().value }))
          .sort((a, b) => a.key - b.key)
          .map(({ id }) => id);
        const gamma = orderPenalty(ids, shuffled);
        expect(gamma).toBeGreaterThanOrEqual(0);
        expect(orderPenalty(ids, shuffled.toReversed())).toBeCloseTo(1 - gamma, 9);
      }),
    );
  });
});

describe("CFO", () => {
  it("is zero where the old prefix stands in its order", () => {
    expect(reusabilityScore({ cci: 0.7, prefix: old(["1", 1], ["2", 1]) }, now("1", "2"))).toBe(0);
  });

  it("is all of CCI where the two swapped places: beta 1, gamma 1, beta' 0", () => {
    expect(reusabilityScore({ cci: 0.7, prefix: old(["1", 1], ["2", 1]) }, now("2", "1"))).toBe(0.7);
  });

  it("sees new chunks only when asked to", () => {
    const variant = { cci: 0.6, prefix: old(["1", 2]) };
    expect(reusabilityScore(variant, now("1", "5", "6"))).toBe(0);
    expect(reusabilityScore(variant, now("1", "5", "6"), { countNew: true })).toBeCloseTo(0.6 * (2 / 3), 12);
    expect(knownShare(["1"], [])).toBe(1);
  });

  it("is clipped, and without overlap at least alpha/2", () => {
    expect(cacheFixOverhead(3, 0.5)).toBe(1);
    expect(cacheFixOverhead(0.5, reusabilityScore({ cci: 0.5, prefix: [] }, now("1")))).toBe(0.25);
  });

  it("says which tokens: the first of the ranking, rounded up", () => {
    const ranking = Array.from({ length: 30 }, (_, index) => 29 - index);
    expect(contextualisedTokens(ranking, 0.1)).toEqual([29, 28, 27]);
    expect(contextualisedTokens(ranking, 0.11)).toHaveLength(4);
    expect(contextualisedTokens(ranking, 0)).toEqual([]);
    expect(contextualisedTokens(ranking, 1)).toHaveLength(30);
  });
});
