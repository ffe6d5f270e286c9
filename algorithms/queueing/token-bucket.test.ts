import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTokenBucket } from "./token-bucket.ts";

describe("a token bucket", () => {
  it("gives a minute's worth at once, then what comes, and says how long to wait", () => {
    const bucket = createTokenBucket();
    for (let i = 0; i < 60; i++) expect(bucket.take(1, 5_000, 60)).toBe(0);
    expect(bucket.take(1, 5_000, 60)).toBe(1_000);
    expect(bucket.take(3, 5_500, 60)).toBe(2_500);
    expect(bucket.take(1, 6_000, 60)).toBe(0);
    expect(bucket.take(1, 6_000, 60)).toBe(1_000);
  });

  it("a rate below one a minute still gives one", () => {
    const bucket = createTokenBucket();
    expect(bucket.take(1, 0, 0.5)).toBe(0);
    expect(bucket.take(1, 0, 0.5)).toBe(120_000);
    expect(bucket.take(1, 120_000, 0.5)).toBe(0);
  });

  it("follows a rate that changes: what is saved up is cut to what it holds now", () => {
    const bucket = createTokenBucket();
    expect(bucket.take(10, 0, 100)).toBe(0);
    expect(bucket.take(50, 0, 50)).toBe(0);
    expect(bucket.take(1, 0, 50)).toBe(1_200);
  });

  it("what was used beyond the estimate is a debt; what was not used is there again", () => {
    const bucket = createTokenBucket();
    expect(bucket.take(40, 0, 60)).toBe(0);
    bucket.correct(80, 0, 60);
    expect(bucket.take(1, 0, 60)).toBe(61_000);
    bucket.correct(-70, 0, 60);
    expect(bucket.take(10, 0, 60)).toBe(0);
    bucket.correct(-1_000, 0, 60);
    expect(bucket.take(60, 0, 60)).toBe(0);
    expect(bucket.take(1, 0, 60)).toBe(1_000);
  });

  it("more than it holds is taken when it is full, and paid for by waiting", () => {
    const bucket = createTokenBucket();
    expect(bucket.take(10, 0, 60)).toBe(0);
    expect(bucket.take(600, 0, 60)).toBe(10_000);
    expect(bucket.take(600, 10_000, 60)).toBe(0);
    expect(bucket.take(1, 10_000, 60)).toBe(541_000);
  });

  const calls = fc.array(fc.record({ amount: fc.integer({ min: 1, max: 40 }), later: fc.nat(20_000) }), {
    maxLength: 120,
  });
  it("in any span of time no more passes than it holds and what the span brings", () => {
    fc.assert(
      fc.property(calls, fc.integer({ min: 40, max: 500 }), (asked, perMinute) => {
        const bucket = createTokenBucket();
        let now = 0;
        const taken: { at: number; amount: number }[] = [];
        for (const { amount, later } of asked) {
          now += later;
          if (bucket.take(amount, now, perMinute) === 0) taken.push({ at: now, amount });
        }
        for (const [first, { at: from }] of taken.entries()) {
          let sum = 0;
          for (const { at, amount } of taken.slice(first)) {
            sum += amount;
            expect(sum).toBeLessThanOrEqual(perMinute + ((at - from) * perMinute) / 60_000 + 1e-3);
          }
        }
      }),
    );
  });

  it("who waits as long as it said gets it, and not a second before", () => {
    fc.assert(
      fc.property(calls, fc.integer({ min: 1, max: 500 }), (asked, perMinute) => {
        const bucket = createTokenBucket();
        let now = 0;
        for (const { amount, later } of asked) {
          now += later;
          const wait = bucket.take(amount, now, perMinute);
          if (wait === 0) continue;
          if (wait > 1_000) expect(bucket.take(amount, now + wait - 1_000, perMinute)).toBeGreaterThan(0);
          expect(bucket.take(amount, (now += wait), perMinute)).toBe(0);
        }
      }),
    );
  });

  it("a clock that goes back gives nothing twice", () => {
    const bucket = createTokenBucket();
    expect(bucket.take(60, 60_000, 60)).toBe(0);
    expect(bucket.take(1, 0, 60)).toBe(1_000);
    expect(bucket.take(1, 60_000, 60)).toBe(1_000);
    expect(bucket.take(1, 61_000, 60)).toBe(0);
  });
});
