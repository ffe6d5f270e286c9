import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { knownShare, orderPenalty, prefixOverlap, reusabilityScore } from "./chunk-scores.ts";

const old = (...chunks: [string, number][]) => chunks.map(([id, inter]) => ({ id, inter }));
const now = (...ids: string[]) => ids.map((id) => ({ id, tokens: 10 }));

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

describe("the reusability score", () => {
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
});
