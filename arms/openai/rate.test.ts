import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRateLimit } from "./rate.ts";

describe("rate limit", () => {
  it("lets a burst through, then one every 60/n seconds", () => {
    const rate = createRateLimit(60, 2);
    expect([0, 0, 0, 0].map((now) => rate.take(now, Infinity))).toEqual([0, 0, 1000, 2000]);
    expect(rate.take(2500, Infinity)).toBeCloseTo(500, 6);
  });

  it("promises no slot that comes too late, and takes slots back", () => {
    const rate = createRateLimit(60, 1);
    rate.take(0, 0);
    expect(rate.take(0, 999)).toBeNull();
    expect(rate.take(0, 1000)).toBe(1000);
    rate.giveBack();
    expect(rate.take(0, 1000)).toBe(1000);
  });

  it("never allows more than burst + n calls in any minute", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 600 }),
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 200 }),
        (perMinute, burst, gaps) => {
          const rate = createRateLimit(perMinute, burst);
          const calls: number[] = [];
          let now = 0;
          for (const gap of gaps) {
            now += gap;
            const wait = rate.take(now, Infinity);
            if (wait !== null) calls.push(now + wait);
          }
          for (const from of calls)
            expect(calls.filter((at) => at >= from && at < from + 59_999).length).toBeLessThanOrEqual(
              perMinute + burst,
            );
        },
      ),
      { numRuns: 50 },
    );
  });
});
