import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { constantPrior, emptyStatistics, observe, predict, solvePosterior, type Posterior } from "./bandit.ts";
import { estimateSlope } from "./preference-slope.ts";
import { addPreferences, preferenceEvidence, type PreferenceRow } from "./preferences.ts";
import { splitmix64 } from "../numeric/random.ts";

const n = 3;
/** Weights of two arms on the scale of rewards: which is better depends on the context. */
const truth = [
  [0.55, 0.25, 0.1],
  [0.5, -0.2, 0.1],
];
const qualityOf = (arm: number, x: readonly number[]): number =>
  x.reduce((sum, value, k) => sum + value * truth[arm]![k]!, 0);

/** Arms after rewards, and comparisons of people who are as decided as the slope says. */
function world(
  seed: number,
  slope: number,
  rewards: number,
  comparisons: number,
): { arms: Posterior[]; rows: PreferenceRow[] } {
  const random = splitmix64(seed);
  const context = (): number[] => [1, 2 * random() - 1, 2 * random() - 1];
  const arms = truth.map((_, arm) => {
    const sums = emptyStatistics(n);
    for (let i = 0; i < rewards; i++) {
      const x = context();
      observe(sums, x, random() < qualityOf(arm, x) ? 1 : 0);
    }
    return solvePosterior(sums, constantPrior(n, 0.5, 0.25, 0.2));
  });
  const rows = Array.from({ length: comparisons }, (): PreferenceRow => {
    const x = context();
    const chance = 1 / (1 + Math.exp(-slope * (qualityOf(0, x) - qualityOf(1, x))));
    return { first: 0, second: 1, firstContext: x, secondContext: x, outcome: random() < chance ? 1 : 0, weight: 1 };
  });
  return { arms, rows };
}

/**
 * Standard error of the best estimate of the slope from these rows with known qualities (Fisher).
 */
function standardError(rows: readonly PreferenceRow[], slope: number): number {
  const information = rows.map(({ firstContext }) => {
    const x = Array.from(firstContext);
    const difference = qualityOf(0, x) - qualityOf(1, x);
    const chance = 1 / (1 + Math.exp(-slope * difference));
    return difference ** 2 * chance * (1 - chance);
  });
  return 1 / Math.sqrt(information.reduce((sum, one) => sum + one, 0));
}

describe("the slope of preferences", () => {
  it("is found again, with enough rewards and comparisons", { timeout: 120_000 }, () => {
    fc.assert(
      fc.property(fc.nat(1e6), fc.constantFrom(1, 2, 4, 8, 16), (seed, slope) => {
        const { arms, rows } = world(seed, slope, 2_000, 1_500);
        const found = estimateSlope(arms, rows);
        // With weak preferences a thousand comparisons are no more precise than this.
        const chance = 5 * standardError(rows.slice(0, 1_000), slope);
        expect(found).toBeGreaterThan(Math.min(slope / 1.6, slope - chance));
        expect(found).toBeLessThan(Math.max(slope * 1.6, slope + chance));
      }),
      // The best of the powers of two is the upper bound, and the top is in front of it.
      { numRuns: 25, examples: [[47_414, 16]] },
    );
  });

  it("is about 1 while the rows say nothing, and never outside its bounds", () => {
    const { arms } = world(1, 4, 50, 0);
    expect(estimateSlope(arms, [])).toBe(1);
    const x = [1, 0.2, 0.1];
    const tie: PreferenceRow = { first: 0, second: 1, firstContext: x, secondContext: x, outcome: 0.5, weight: 1 };
    const little = estimateSlope(arms, [tie]);
    expect(little > 0.6 && little < 1.5).toBe(true);
    fc.assert(
      fc.property(fc.nat(1e6), fc.integer({ min: 1, max: 60 }), fc.boolean(), (seed, count, backwards) => {
        const made = world(seed, 30, 20, count);
        const rows = made.rows.map((row) => ({ ...row, outcome: backwards ? 1 - row.outcome : row.outcome }));
        const slope = estimateSlope(made.arms, rows);
        expect(slope).toBeGreaterThanOrEqual(1 / 4);
        expect(slope).toBeLessThanOrEqual(32);
      }),
      { numRuns: 25 },
    );
  });

  it("is the same whichever answer is called the first", () => {
    const { arms, rows } = world(3, 4, 200, 80);
    const swapped = rows.map(({ firstContext, secondContext, outcome, weight }): PreferenceRow => ({
      ...{ first: 1, second: 0, firstContext: secondContext, secondContext: firstContext },
      ...{ outcome: 1 - outcome, weight },
    }));
    expect(estimateSlope(arms, swapped)).toBeCloseTo(estimateSlope(arms, rows), 8);
  });

  it("keeps qualities on the scale of rewards, where a slope of 1 drives them apart", () => {
    const { arms, rows } = world(5, 8, 400, 1_500);
    const x = [1, 0.8, 0];
    const gap = (posteriors: readonly Posterior[]): number =>
      predict(posteriors[0]!, x).mean - predict(posteriors[1]!, x).mean;
    const real = qualityOf(0, x) - qualityOf(1, x);
    const own = Math.abs(gap(addPreferences(arms, rows, estimateSlope(arms, rows))) - real);
    const one = Math.abs(gap(addPreferences(arms, rows)) - real);
    expect(own).toBeLessThan(0.12);
    expect(one).toBeGreaterThan(3 * own);
  });

  it("is refused where it is none; without rows nothing is more likely than anything else", () => {
    const { arms, rows } = world(5, 1, 10, 2);
    expect(() => addPreferences(arms, rows, 0)).toThrow("a slope of 0");
    expect(preferenceEvidence(arms, [], 3)).toBe(0);
  });
});
