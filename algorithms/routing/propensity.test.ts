import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { normalCdf } from "../numeric/gaussian.ts";
import { PROBABILITY_FLOOR, winProbabilities, type Score } from "./propensity.ts";
import { normal, splitmix64 } from "../numeric/random.ts";

const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0);
const score = (mean: number, deviation: number): Score => ({ mean, deviation });

describe("winProbabilities", () => {
  it("is the closed form for two arms, whatever their scales", () => {
    const mean = fc.double({ min: -2, max: 2, noNaN: true });
    const deviation = fc.double({ min: -9, max: 1, noNaN: true }).map((exponent) => 10 ** exponent);
    fc.assert(
      fc.property(mean, fc.double({ min: -4, max: 4, noNaN: true }), deviation, deviation, (m, gap, s1, s2) => {
        const joint = Math.hypot(s1, s2);
        const m2 = m - gap * joint;
        const [p1, p2] = winProbabilities([score(m, s1), score(m2, s2)]);
        const expected = normalCdf((m - m2) / joint);
        expect(Math.abs(p1! - expected)).toBeLessThan(1e-9);
        expect(Math.abs(p1! + p2! - 1)).toBeLessThan(1e-9);
        // With a third that can't win, by the integral.
        const [of3] = winProbabilities([score(m, s1), score(m2, s2), score(m - 100 * (joint + Math.abs(gap)), joint)]);
        expect(Math.abs(of3! - expected)).toBeLessThan(1e-9);
      }),
      { numRuns: 500 },
    );
  });

  it("sums to 1, follows a shift, a scale and a permutation, and prefers the better of equals", () => {
    const arm = fc.record({
      mean: fc.double({ min: -1, max: 2, noNaN: true }),
      deviation: fc.oneof(fc.constant(0), fc.double({ min: 1e-6, max: 2, noNaN: true })),
    });
    fc.assert(
      fc.property(fc.array(arm, { minLength: 1, maxLength: 12 }), (arms) => {
        const p = winProbabilities(arms);
        expect(Math.abs(sum(p) - 1)).toBeLessThan(1e-9);
        p.forEach((value) => expect(value).toBeGreaterThanOrEqual(0));
        const turned = winProbabilities([...arms].reverse()).reverse();
        const moved = winProbabilities(arms.map(({ mean, deviation }) => score(4 * mean, 4 * deviation)));
        p.forEach((value, i) => {
          expect(Math.abs(value - turned[i]!)).toBeLessThan(1e-9);
          expect(Math.abs(value - moved[i]!)).toBeLessThan(1e-9);
        });
      }),
      { numRuns: 200 },
    );
    const [worse, better] = winProbabilities([score(0.4, 0.3), score(0.6, 0.3), score(0, 0.5)]);
    expect(better!).toBeGreaterThan(worse!);
  });

  it("agrees with Monte Carlo", () => {
    const random = splitmix64(42);
    const arms = [score(0.6, 0.2), score(0.5, 0.4), score(0.7, 0), score(0.3, 0.05), score(0.55, 0.3)];
    const wins = arms.map(() => 0);
    const rounds = 200_000;
    for (let round = 0; round < rounds; round++) {
      const values = arms.map(({ mean, deviation }) => mean + deviation * normal(random));
      wins[values.indexOf(Math.max(...values))]! += 1;
    }
    winProbabilities(arms).forEach((p, i) => {
      const error = Math.sqrt((p * (1 - p)) / rounds) + 1e-6;
      expect(Math.abs(wins[i]! / rounds - p)).toBeLessThan(5 * error);
    });
  });

  it("shares equally among equals, from 1 to 64 arms", () => {
    for (const n of [1, 2, 3, 17, 64])
      for (const deviation of [0, 0.3])
        for (const p of winProbabilities(Array.from({ length: n }, () => score(0.5, deviation))))
          expect(Math.abs(p - 1 / n)).toBeLessThan(1e-9);
  });

  it("handles 64 arms of 64 scales", () => {
    const arms = Array.from({ length: 64 }, (_, i) => score(0.01 * i, 10 ** (-6 + i / 10)));
    expect(Math.abs(sum(winProbabilities(arms)) - 1)).toBeLessThan(1e-9);
  });

  it("treats arms without deviation as point masses", () => {
    const [fixed, moving, hopeless] = winProbabilities([score(0.5, 0), score(0.4, 0.1), score(0.2, 0)]);
    expect(fixed).toBeCloseTo(normalCdf(1), 10);
    expect(moving).toBeCloseTo(1 - normalCdf(1), 10);
    expect(hopeless).toBe(0);
  });

  it("keeps two narrow arms apart beside a wide one", () => {
    // Closed form: the wide arm decides alone whether it wins; else the narrow two settle it as if
    // alone.
    const [a, b, wide] = winProbabilities([score(0.3 + 1e-8, 1e-8), score(0.3, 1e-8), score(0, 1)]);
    expect(wide).toBeCloseTo(1 - normalCdf(0.3), 6);
    expect(a! / (a! + b!)).toBeCloseTo(normalCdf(Math.SQRT1_2), 7);
  });

  it("never gives 0 to an arm that could be drawn", () => {
    const [sure, hopeless] = winProbabilities([score(1e6, 0.1), score(-1e6, 0.1)]);
    expect(sure).toBeCloseTo(1, 12);
    expect(hopeless).toBeGreaterThanOrEqual(PROBABILITY_FLOOR / 2);
  });

  it("refuses what is no score", () => {
    expect(() => winProbabilities([])).toThrow("no arms");
    expect(() => winProbabilities([score(Number.NaN, 1)])).toThrow("finite");
    expect(() => winProbabilities([score(0, -1)])).toThrow("deviation >= 0");
  });
});
