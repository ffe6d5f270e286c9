import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { constantPrior, emptyStatistics, observe, predict, solvePosterior } from "./bandit.ts";
import { solveHierarchy, type ArmSums, type Hierarchy } from "./hierarchy.ts";
import { estimateVariances } from "./variances.ts";
import { normal, splitmix64, type Random } from "../numeric/random.ts";

const d = 3;
const hierarchy: Hierarchy = {
  mean: [0.5, 0, 0],
  groups: [0, 1, 1],
  variances: { shared: [0.2, 0.05], own: [0.1, 0.02], noise: 0.1 },
};

/** Rows of one arm: contexts with a constant, and rewards by its weights. */
function arm(random: Random, weights: readonly number[], count: number, noise = 0.3): ArmSums {
  const known = { ...emptyStatistics(d), weight: 0, squares: 0 };
  for (let i = 0; i < count; i++) {
    const x = [1, normal(random), normal(random)];
    const reward = x.reduce((sum, value, k) => sum + value * weights[k]!, 0) + noise * normal(random);
    observe(known, x, reward);
    known.weight++;
    known.squares += reward * reward;
  }
  return known;
}

describe("the shared prior", () => {
  it("is the joint posterior of all arms: two arms as one regression of twice the width", () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 30 }), (seed, first, second) => {
        const random = splitmix64(seed);
        const arms = [arm(random, [0.6, 0.1, 0], first), arm(random, [0.8, -0.1, 0.2], second)];
        const { arms: solved, unknown } = solveHierarchy(arms, hierarchy);
        // The weights of both arms side by side: correlated by what they share. Whitened by the
        // square root of the prior, so that solvePosterior's round prior can be asked.
        const { covariance, mean } = joint(arms);
        for (const i of [0, 1])
          for (const x of [
            [1, 0, 0],
            [1, 0.5, -2],
          ]) {
            const { mean: m, deviation } = predict(solved[i]!, x);
            const own = x.map((_, k) => i * d + k);
            expect(m).toBeCloseTo(
              x.reduce((sum, value, k) => sum + value * mean[own[k]!]!, 0),
              8,
            );
            let variance = 0;
            for (let j = 0; j < d; j++)
              for (let k = 0; k < d; k++) variance += x[j]! * x[k]! * covariance[own[j]!]![own[k]!]!;
            expect(deviation).toBeCloseTo(Math.sqrt(variance), 8);
          }
        expect(predict(unknown, [1, 0, 0]).deviation).toBeGreaterThan(Math.sqrt(0.1) - 1e-9);
      }),
      { numRuns: 40 },
    );
  });

  it("is the plain posterior where nothing is shared", () => {
    const random = splitmix64(4);
    const known = arm(random, [0.6, 0.1, 0], 40);
    const variances = { shared: [1e-9, 1e-9], own: [0.25, 0.25], noise: 0.1 };
    const { arms } = solveHierarchy([known], { ...hierarchy, variances });
    const plain = solvePosterior(known, constantPrior(d, 0.5, 0.25, 0.1));
    for (let k = 0; k < d; k++) expect(arms[0]!.mean[k]).toBeCloseTo(plain.mean[k]!, 6);
    expect(predict(arms[0]!, [1, 1, 1]).deviation).toBeCloseTo(predict(plain, [1, 1, 1]).deviation, 6);
  });

  it("lets an untried arm begin with what the others have in common", () => {
    const random = splitmix64(5);
    const slope = [0.6, 0.4, 0];
    const arms = Array.from({ length: 6 }, () => arm(random, slope, 100));
    const { unknown } = solveHierarchy(arms, hierarchy);
    expect(predict(unknown, [1, 1, 0]).mean).toBeCloseTo(1, 1);
    expect(predict(unknown, [1, -1, 0]).mean).toBeCloseTo(0.2, 1);
  });

  it("refuses sums that are not finite, and of another width", () => {
    const bad = arm(splitmix64(1), [0, 0, 0], 3);
    expect(() => solveHierarchy([{ ...bad, b: [1] }], hierarchy)).toThrow(RangeError);
    expect(() => solveHierarchy([{ ...bad, b: [Number.NaN, 0, 0] }], hierarchy)).toThrow(RangeError);
    expect(() =>
      solveHierarchy([{ ...bad, a: bad.a.length === 0 ? [] : Array.from(bad.a, () => Number.NaN) }], hierarchy),
    ).toThrow(RangeError);
  });
});

describe("variances from data", () => {
  it("finds those that made it", () => {
    const random = splitmix64(9);
    const truth = { shared: 0.3, own: 0.05, noise: 0.3 };
    // Many arms and many slopes a group: only then does the data tell them well.
    const shared = Array.from({ length: d }, () => Math.sqrt(truth.shared) * normal(random));
    const arms = Array.from({ length: 40 }, () =>
      arm(
        random,
        shared.map((value) => value + Math.sqrt(truth.own) * normal(random)),
        200,
        truth.noise,
      ),
    );
    const all = { ...hierarchy, mean: [0, 0, 0], groups: [0, 0, 0], variances: { shared: [0.3], own: [1], noise: 1 } };
    const found = estimateVariances(arms, all);
    expect(found.noise).toBeCloseTo(truth.noise ** 2, 2);
    expect(found.own[0]! / truth.own).toBeGreaterThan(0.7);
    expect(found.own[0]! / truth.own).toBeLessThan(1.4);
    // The shared part is nearly known: the first guess counts as one more weight beside its d.
    const squares = shared.reduce((sum, value) => sum + value * value, 0);
    expect(found.shared[0]! / ((0.3 + squares) / (1 + d))).toBeCloseTo(1, 0);
  });

  it("shrinks the group of features that say nothing, and keeps that which does", () => {
    const random = splitmix64(11);
    const groups = [0, 1, 2];
    const variances = { shared: [0.2, 0.1, 0.1], own: [0.1, 0.1, 0.1], noise: 0.1 };
    const arms = [arm(random, [0.5, 0.5, 0], 2_000), arm(random, [0.5, -0.5, 0], 2_000)];
    const found = estimateVariances(arms, { ...hierarchy, groups, variances });
    expect(found.own[2]).toBeLessThan(found.own[1]! / 2);
  });

  it("stays at the first guess without data, and finite with any data", () => {
    const none = estimateVariances([], hierarchy);
    expect(none.shared[0]).toBeCloseTo(0.2, 9);
    expect(none.noise).toBeCloseTo(0.1, 9);
    const one = { ...emptyStatistics(d), weight: 5, squares: 5 };
    for (let i = 0; i < 5; i++) observe(one, [1, 0, 0], 1);
    const found = estimateVariances([one, one], hierarchy);
    for (const value of [...found.shared, ...found.own, found.noise]) {
      expect(Number.isFinite(value)).toBe(true);
      expect(value).toBeGreaterThan(0);
    }
  });
});

/** Mean and covariance of the stacked weights of two arms, by Gauss-Jordan on the dense system. */
function joint(arms: readonly ArmSums[]): { mean: number[]; covariance: number[][] } {
  const n = arms.length * d;
  const { groups, variances, mean } = hierarchy;
  const prior = Array.from({ length: n }, (_, r) =>
    Array.from({ length: n }, (__, c) =>
      r % d === c % d ? variances.shared[groups[r % d]!]! + (r === c ? variances.own[groups[r % d]!]! : 0) : 0,
    ),
  );
  const priorPrecision = inverted(prior);
  const precision = priorPrecision.map((row) => [...row]);
  const right = new Array<number>(n).fill(0);
  arms.forEach(({ a, b }, i) => {
    for (let j = 0; j < d; j++) {
      right[i * d + j]! += b[j]! / variances.noise;
      for (let k = 0; k < d; k++) {
        const [high, low] = [Math.max(j, k), Math.min(j, k)];
        precision[i * d + j]![i * d + k]! += a[(high * (high + 1)) / 2 + low]! / variances.noise;
      }
    }
  });
  for (let r = 0; r < n; r++) for (let c = 0; c < n; c++) right[r]! += priorPrecision[r]![c]! * mean[c % d]!;
  const covariance = inverted(precision);
  return { mean: covariance.map((row) => row.reduce((sum, value, k) => sum + value * right[k]!, 0)), covariance };
}

function inverted(matrix: readonly (readonly number[])[]): number[][] {
  const n = matrix.length;
  const work = matrix.map((row, i) => [...row, ...Array.from({ length: n }, (_, j) => (i === j ? 1 : 0))]);
  for (let i = 0; i < n; i++) {
    const pivot = work[i]![i]!;
    work[i] = work[i]!.map((value) => value / pivot);
    for (let r = 0; r < n; r++) {
      if (r === i) continue;
      const times = work[r]![i]!;
      work[r] = work[r]!.map((value, c) => value - times * work[i]![c]!);
    }
  }
  return work.map((row) => row.slice(n));
}

it("estimates the same variances beside features that were always 0", () => {
  const random = splitmix64(4);
  const arms = [arm(random, [0.6, 0.1, 0], 40), arm(random, [0.8, -0.1, 0.2], 40)];
  const wide = {
    mean: [0.5, 0, 0, 0],
    groups: [0, 2, 1, 1],
    variances: { shared: [0.2, 0.05, 0.3], own: [0.1, 0.02, 0.3], noise: 0.1 },
  };
  const padded = arms.map(({ a, b, ...sums }) => ({
    ...sums,
    // A zero behind the constant: rows 1 and 2 become 2 and 3.
    a: [a[0]!, 0, 0, a[1]!, 0, a[2]!, a[3]!, 0, a[4]!, a[5]!],
    b: [b[0]!, 0, b[1]!, b[2]!],
  }));
  const { shared, own, noise } = estimateVariances(padded, wide);
  const expected = estimateVariances(arms, hierarchy);
  for (const [found, of] of [
    [shared, expected.shared],
    [own, expected.own],
  ] as const) {
    expect(found[0]).toBeCloseTo(of[0]!, 12);
    expect(found[1]).toBeCloseTo(of[1]!, 12);
    expect(found[2]).toBe(0.3);
  }
  expect(noise).toBeCloseTo(expected.noise, 12);
  expect(estimateVariances([], wide)).toEqual(wide.variances);
});
