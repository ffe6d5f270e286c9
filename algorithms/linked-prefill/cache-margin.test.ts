import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCacheMargin } from "./cache-margin.ts";

const options = { step: 10, windowMs: 1_600, now: 0 };

describe("the margin of a cache", () => {
  it("counts what came back and lay within a step beyond the budget", () => {
    const margin = createCacheMargin(options);
    margin.evicted("best", { bytes: 6, value: 3 });
    margin.evicted("next", { bytes: 4, value: 2 });
    margin.evicted("far", { bytes: 1, value: 1 });
    margin.returned("far", 100, 10); // 11 bytes
    margin.returned("next", 20, 10); // 10
    margin.returned("best", 3, 10);
    margin.returned("best", 3, 10); // no more: it is there
    margin.returned("unknown", 1_000, 10);
    expect(margin.counts(10)).toEqual({ gainTokens: 23, lossTokens: 0, measuredMs: 10 });
  });

  it("forgets what is older than the window, and all where it starts again", () => {
    const margin = createCacheMargin(options);
    margin.lost(1, 50);
    margin.lost(2, 1_000);
    expect(margin.counts(1_599)).toEqual({ gainTokens: 0, lossTokens: 3, measuredMs: 1_599 });
    expect(margin.counts(1_600)).toEqual({ gainTokens: 0, lossTokens: 2, measuredMs: 1_500 });
    margin.evicted("a", { bytes: 1, value: 1 });
    margin.restart(1_700);
    margin.returned("a", 5, 1_700);
    expect(margin.counts(1_800)).toEqual({ gainTokens: 0, lossTokens: 0, measuredMs: 100 });
  });

  it("remembers so many names and no more", () => {
    const margin = createCacheMargin({ ...options, most: 2 });
    for (const name of ["a", "b", "c"]) margin.evicted(name, { bytes: 1, value: 1 });
    for (const name of ["a", "b", "c"]) margin.returned(name, 1, 0);
    expect(margin.counts(0).gainTokens).toBe(2);
  });

  it("gains no less by a larger step", () => {
    const some = fc.array(fc.record({ bytes: fc.nat(10), value: fc.nat(5), tokens: fc.nat(9) }), { maxLength: 20 });
    const gainOf = (step: number, all: { bytes: number; value: number; tokens: number }[]): number => {
      const margin = createCacheMargin({ ...options, step });
      for (const [i, one] of all.entries()) margin.evicted(String(i), one);
      for (const [i, { tokens }] of all.entries()) margin.returned(String(i), tokens, 0);
      return margin.counts(0).gainTokens;
    };
    fc.assert(
      fc.property(some, fc.nat(50), fc.nat(50), (all, step, more) => {
        expect(gainOf(step + more, all)).toBeGreaterThanOrEqual(gainOf(step, all));
      }),
    );
  });
});
