import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { constantPrior, emptyStatistics, observe, predict, solvePosterior, type Posterior } from "./bandit.ts";
import { addPreferences, type PreferenceRow } from "./preferences.ts";
import { splitmix64 } from "../numeric/random.ts";

const n = 3;
/** An arm after some rewards. */
function armOf(seed: number, rewards = 5, variance = 1): Posterior {
  const random = splitmix64(seed);
  const sums = emptyStatistics(n);
  for (let i = 0; i < rewards; i++) observe(sums, [1, random() - 0.5, random() - 0.5], random());
  return solvePosterior(sums, constantPrior(n, 0.5, variance, 0.1));
}
const row = (more: Partial<PreferenceRow>): PreferenceRow => ({
  ...{ first: 0, second: 1, firstContext: [1, 0.2, -0.4], secondContext: [1, 0.2, -0.4], outcome: 1, weight: 1 },
  ...more,
});
const swapped = (one: PreferenceRow): PreferenceRow => ({
  ...{ first: one.second, second: one.first, firstContext: one.secondContext, secondContext: one.firstContext },
  ...{ outcome: 1 - one.outcome, weight: one.weight },
});

const value = fc.double({ min: -1, max: 1, noNaN: true });
const context = fc.tuple(fc.constant(1), value, value);
const anyRow = fc
  .record({
    arms: fc.constantFrom<[number, number]>([0, 1], [1, 0], [0, 2], [2, 1]),
    firstContext: context,
    secondContext: context,
    outcome: fc.constantFrom(0, 0.5, 1, 0.75),
    weight: fc.constantFrom(0.3, 1, 0),
  })
  .map(({ arms: [first, second], ...more }): PreferenceRow => ({ first, second, ...more }));
const rows = fc.array(anyRow, { maxLength: 30 });

const close = (one: Posterior, other: Posterior, within: number): void => {
  expect(one.mean).toHaveLength(other.mean.length);
  Array.from(one.mean).forEach((at, i) => expect(Math.abs(at - other.mean[i]!)).toBeLessThan(within));
  Array.from(one.factor).forEach((at, i) =>
    expect(Math.abs(at - other.factor[i]!)).toBeLessThan(within * Math.max(1, Math.abs(at))),
  );
};

describe("preferences", () => {
  it("without rows, or with rows of no weight, leave the posteriors of the rewards as they are", () => {
    const arms = [armOf(1), armOf(2)];
    expect(addPreferences(arms, [])).toEqual(arms);
    const untouched = addPreferences(arms, [row({ weight: 0 })]);
    untouched.forEach((arm, i) => expect(arm).toBe(arms[i]));
    const third = armOf(3);
    expect(addPreferences([...arms, third], [row({})])[2]).toBe(third);
  });

  const same = { firstContext: [1, 0, 0], secondContext: [1, 0, 0] };
  const nearlyFlat: PreferenceRow[] = [
    { first: 0, second: 1, ...same, outcome: 0, weight: 1 },
    { first: 1, second: 0, ...same, outcome: 1, weight: 0.3 },
    { first: 1, second: 0, ...same, firstContext: [1, 0.991819503016251, 0], outcome: 0, weight: 1 },
  ];
  it("are the same whichever answer is called the first", () => {
    fc.assert(
      fc.property(rows, (given) => {
        const arms = [armOf(1), armOf(2), armOf(3)];
        const straight = addPreferences(arms, given);
        addPreferences(arms, given.map(swapped)).forEach((arm, i) => close(arm, straight[i]!, 1e-8));
      }),
      // The first is one of which two searches ended 1e-8 apart.
      { numRuns: 60, examples: [[nearlyFlat]] },
    );
  });

  it("are finite, and at a maximum: the gradient is nothing", () => {
    fc.assert(
      fc.property(rows, (given) => {
        const arms = [armOf(1), armOf(2), armOf(3)];
        const next = addPreferences(arms, given);
        // By small steps to all sides the density falls.
        const density = (of: readonly Posterior[]): number => {
          const prior = of.reduce((sum, { mean }, i) => sum - mahalanobis(arms[i]!, mean) / 2, 0);
          return given.reduce((sum, { first, second, firstContext, secondContext, outcome, weight }) => {
            const z = predict(of[first]!, firstContext).mean - predict(of[second]!, secondContext).mean;
            return sum + weight * (outcome * z - Math.log1p(Math.exp(z)));
          }, prior);
        };
        const best = density(next);
        next.forEach((arm, i) =>
          Array.from(arm.mean).forEach((_, k) => {
            for (const move of [1e-3, -1e-3]) {
              const mean = Float64Array.from(arm.mean);
              mean[k]! += move;
              expect(density(next.with(i, { ...arm, mean }))).toBeLessThanOrEqual(best + 1e-12);
            }
          }),
        );
      }),
      { numRuns: 40 },
    );
  });

  it("find the weights behind them, as differences", () => {
    const truth = [
      [1, 2, -1],
      [0.5, -1, 1.5],
    ];
    const random = splitmix64(9);
    const given = Array.from({ length: 6_000 }, () => {
      const x = [1, 2 * random() - 1, 2 * random() - 1];
      const z = x.reduce((sum, at, k) => sum + at * (truth[0]![k]! - truth[1]![k]!), 0);
      return row({ firstContext: x, secondContext: x, outcome: random() < 1 / (1 + Math.exp(-z)) ? 1 : 0 });
    });
    const vague = [armOf(1, 0, 100), armOf(2, 0, 100)];
    const [one, other] = addPreferences(vague, given);
    for (let k = 0; k < n; k++)
      expect(Math.abs(one!.mean[k]! - other!.mean[k]! - (truth[0]![k]! - truth[1]![k]!))).toBeLessThan(0.25);
  });

  it("move the better up and the worse down, and make both surer; a tie moves equal arms nowhere", () => {
    const arms = [armOf(1, 0), armOf(2, 0)];
    const x = row({}).firstContext;
    const [better, worse] = addPreferences(arms, [row({})]);
    expect(predict(better!, x).mean).toBeGreaterThan(0.5);
    expect(predict(worse!, x).mean).toBeCloseTo(1 - predict(better!, x).mean, 10);
    expect(predict(better!, x).deviation).toBeLessThan(predict(arms[0]!, x).deviation);
    const tied = addPreferences(arms, [row({ outcome: 0.5 })]);
    tied.forEach(({ mean }, i) => Array.from(mean).forEach((at, k) => expect(at).toBeCloseTo(arms[i]!.mean[k]!, 12)));
    expect(predict(tied[0]!, x).deviation).toBeLessThan(predict(arms[0]!, x).deviation);
  });

  it("stay finite where one arm always wins, however often", () => {
    const always = Array.from({ length: 3_000 }, () => row({}));
    const next = addPreferences([armOf(1, 0, 100), armOf(2, 0, 100)], always);
    for (const { mean, factor } of next)
      expect([...Array.from(mean), ...Array.from(factor)].every(Number.isFinite)).toBe(true);
    const x = row({}).firstContext;
    expect(predict(next[0]!, x).mean).toBeGreaterThan(predict(next[1]!, x).mean + 3);
  });

  it("refuse what is no comparison", () => {
    const arms = [armOf(1), armOf(2)];
    for (const bad of [
      { second: 0 },
      { outcome: 2 },
      { outcome: Number.NaN },
      { firstContext: [1] },
      { weight: Infinity },
    ])
      expect(() => addPreferences(arms, [row(bad)])).toThrow(RangeError);
    expect(() => addPreferences(arms, [row({ firstContext: [1, Number.NaN, 0] })])).toThrow(RangeError);
  });
});

/** (m - mean)T precision (m - mean). */
function mahalanobis({ mean, factor }: Posterior, at: ArrayLike<number>): number {
  let sum = 0;
  for (let column = 0; column < n; column++) {
    let part = 0;
    for (let i = column; i < n; i++) part += factor[(i * (i + 1)) / 2 + column]! * (at[i]! - mean[i]!);
    sum += part * part;
  }
  return sum;
}
