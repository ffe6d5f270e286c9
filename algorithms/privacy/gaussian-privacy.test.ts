import fc from "fast-check";
import { expect, test } from "vitest";
import { deltaOf, epsilonOf, muOf } from "./gaussian-privacy.ts";

test("published noise: the analytic Gaussian mechanism", () => {
  // Balle and Wang's own code, epsilon 1, delta 1e-5; the classic bound says 4.84.
  expect(1 / muOf({ epsilon: 1, delta: 1e-5 })).toBeCloseTo(3.730631634944469, 7);
});

test("published delta: Gaussian privacy of mu = 1, by tables of the normal distribution", () => {
  // Phi(-1/2) - e Phi(-3/2), and Phi(1/2) - Phi(-1/2) for epsilon 0: the total variation.
  expect(deltaOf(1, 1)).toBeCloseTo(0.3085375387 - Math.E * 0.0668072013, 9);
  expect(deltaOf(1e-12, 1)).toBeCloseTo(0.3829249225, 9);
});

const epsilons = fc.double({ min: 0.01, max: 20, noNaN: true });
const deltas = fc.double({ min: 1e-12, max: 0.1, noNaN: true });

test("what is found is private, and nothing much less private is", () => {
  fc.assert(
    fc.property(epsilons, deltas, (epsilon, delta) => {
      const mu = muOf({ epsilon, delta });
      expect(deltaOf(epsilon, mu)).toBeLessThanOrEqual(delta);
      expect(deltaOf(epsilon, mu * 1.001)).toBeGreaterThan(delta);
      expect(epsilonOf(delta, mu)).toBeLessThanOrEqual(epsilon * (1 + 1e-6));
      expect(epsilonOf(delta, mu)).toBeGreaterThan(epsilon * (1 - 1e-6));
    }),
  );
});

test("two queries of half the square are as private as one", () => {
  const mu = muOf({ epsilon: 2, delta: 1e-6 });
  const half = mu / Math.SQRT2;
  expect(epsilonOf(1e-6, Math.hypot(half, half))).toBeCloseTo(2, 6);
  expect(epsilonOf(1e-6, 0)).toBe(0);
});
