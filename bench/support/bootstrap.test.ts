import { describe, expect, test } from "vitest";
import { normal, splitmix64 } from "../../algorithms/numeric/random.ts";
import { pairedBootstrap } from "./bootstrap.ts";

describe("pairedBootstrap", () => {
  test("a constant difference has an interval of no width, however much the items differ", () => {
    const random = splitmix64(1);
    const baseline = Array.from({ length: 40 }, () => 100 * random());
    const interval = pairedBootstrap(
      baseline.map((value) => value + 0.5),
      baseline,
      { random, resamples: 200 },
    );
    for (const value of Object.values(interval)) expect(value).toBeCloseTo(0.5, 9);
  });

  test("the same seed gives the same interval", () => {
    const values = [1, 5, 2, 8];
    const run = () => pairedBootstrap(values, [0, 4, 4, 1], { random: splitmix64(7), resamples: 100 });
    expect(run()).toEqual(run());
  });

  test("covers the true difference about as often as it says", () => {
    const random = splitmix64(3);
    const trials = 300;
    let covered = 0;
    for (let trial = 0; trial < trials; trial++) {
      const items = Array.from({ length: 60 }, () => normal(random));
      const treated = items.map((item) => item + 0.3 + 0.5 * normal(random));
      const { low, high } = pairedBootstrap(treated, items, { random, resamples: 300 });
      if (low <= 0.3 && 0.3 <= high) covered++;
    }
    expect(covered / trials).toBeGreaterThan(0.9);
    expect(covered / trials).toBeLessThan(0.99);
  });

  test("refuses what are no pairs", () => {
    expect(() => pairedBootstrap([1], [1, 2], { random: splitmix64(1) })).toThrow(/no pairs/);
    expect(() => pairedBootstrap([], [], { random: splitmix64(1) })).toThrow(RangeError);
  });
});
