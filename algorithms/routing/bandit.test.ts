import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  constantPrior,
  emptyStatistics,
  observe,
  predict,
  priorPosterior,
  sample,
  solvePosterior,
  triedWith,
} from "./bandit.ts";
import { dot } from "../numeric/matrix.ts";
import { normal, splitmix64 } from "../numeric/random.ts";

const prior = constantPrior(3, 0.5, 0.25, 0.1);

describe("posterior", () => {
  it("is the prior without data", () => {
    const x = [1, 0.3, -0.2];
    const solved = predict(solvePosterior(emptyStatistics(3), prior), x);
    const given = predict(priorPosterior(prior), x);
    expect(solved.mean).toBeCloseTo(0.5, 12);
    expect(solved.mean).toBeCloseTo(given.mean, 12);
    expect(solved.deviation).toBeCloseTo(given.deviation, 12);
    expect(given.deviation).toBeCloseTo(Math.sqrt(0.25 * 1.13), 12);
  });

  it("matches the closed form in one dimension", () => {
    const one = constantPrior(1, 0.5, 0.25, 0.1);
    const statistics = emptyStatistics(1);
    for (const reward of [1, 0, 1, 1]) observe(statistics, [1], reward);
    const precision = 1 / 0.25 + 4 / 0.1;
    const { mean, deviation } = predict(solvePosterior(statistics, one), [1]);
    expect(mean).toBeCloseTo((0.5 / 0.25 + 3 / 0.1) / precision, 12);
    expect(deviation).toBeCloseTo(1 / Math.sqrt(precision), 12);
  });

  it("finds the true weights, and is surer the more it saw", () => {
    const random = splitmix64(11);
    const truth = [0.4, 0.3, -0.2];
    const statistics = emptyStatistics(3);
    let before = Infinity;
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < 2_000; i++) {
        const x = [1, normal(random) / 2, normal(random) / 2];
        observe(statistics, x, dot(truth, x) + 0.1 * normal(random));
      }
      const { deviation } = predict(solvePosterior(statistics, prior), [1, 0.5, 0.5]);
      expect(deviation).toBeLessThan(before);
      before = deviation;
    }
    Array.from(solvePosterior(statistics, prior).mean).forEach((value, i) => expect(value).toBeCloseTo(truth[i]!, 1));
  });

  it("does not depend on the order of the data, and forgets what is taken back", () => {
    const observation = fc.tuple(
      fc.double({ min: -1, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
    );
    fc.assert(
      fc.property(fc.array(observation, { minLength: 1, maxLength: 30 }), (data) => {
        const forward = emptyStatistics(3);
        const backward = emptyStatistics(3);
        for (const [f, reward] of data) observe(forward, [1, f, f * f], reward);
        for (const [f, reward] of [...data].reverse()) observe(backward, [1, f, f * f], reward);
        observe(backward, [1, 0.7, 0.1], 1, 3);
        observe(backward, [1, 0.7, 0.1], 1, -3);
        const a = predict(solvePosterior(forward, prior), [1, 0.2, 0.9]);
        const b = predict(solvePosterior(backward, prior), [1, 0.2, 0.9]);
        expect(a.mean).toBeCloseTo(b.mean, 9);
        expect(a.deviation).toBeCloseTo(b.deviation, 9);
      }),
    );
  });

  it("stays finite with collinear and huge data", () => {
    const statistics = emptyStatistics(3);
    observe(statistics, [1, 1, 1], 0.7, 1e15);
    const { mean, deviation } = predict(solvePosterior(statistics, prior), [1, 1, 1]);
    expect(mean).toBeCloseTo(0.7, 3);
    expect(deviation).toBeLessThan(1e-3);
  });

  it("refuses what it cannot use", () => {
    expect(() => solvePosterior(emptyStatistics(2), prior)).toThrow("2 features with a prior of 3");
    expect(() => solvePosterior({ ...emptyStatistics(3), b: [Number.NaN, 0, 0] }, prior)).toThrow("not finite");
    expect(() => solvePosterior(emptyStatistics(3), { ...prior, noise: 0 })).toThrow("positive");
    expect(() => predict(priorPosterior(prior), [1])).toThrow("a context of 1 features");
  });
});

it("samples around the mean", () => {
  const random = splitmix64(5);
  const values = Array.from({ length: 10_000 }, () => sample({ mean: 2, deviation: 0.5 }, random));
  expect(values.reduce((a, b) => a + b, 0) / values.length).toBeCloseTo(2, 1);
});

it("tries what is not known as Thompson sampling does, and what is known to within the indifference little", () => {
  expect(triedWith(0.5, 0)).toBe(0.5);
  expect(triedWith(0, 0.1)).toBe(0);
  expect(triedWith(0.1, 0.1)).toBeCloseTo(0.05, 15);
  // Never more than is not known, and more the less is known.
  fc.assert(
    fc.property(fc.double({ min: 1e-9, max: 10, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }), (d, k) => {
      expect(triedWith(d, k)).toBeLessThanOrEqual(d * (1 + 1e-12));
      expect(triedWith(2 * d, k)).toBeGreaterThanOrEqual(2 * triedWith(d, k) * (1 - 1e-12));
    }),
  );
});
