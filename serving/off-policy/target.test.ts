// Probabilities of target policies on one logged decision.
import { expect, it } from "vitest";
import { priorPosterior } from "../../algorithms/bandit.ts";
import type { RouterPolicy } from "../../policies/router.ts";
import { targetProbabilities, type Candidate, type Target } from "./target.ts";

const prior = priorPosterior({ mean: Float64Array.of(0.5, 0), variance: 0.25, noise: 0.1 });
const candidates: Candidate[] = ["a", "b", "c"].map((arm, i) => ({
  ...{ arm, model: arm, context: [1, 0], bias: i === 0 ? 1_000 : 0, probability: [0.2, 0.3, 0.5][i]! },
}));
const router: Target = {
  kind: "router",
  name: "r",
  policy: { version: 0, arms: new Map() } as unknown as RouterPolicy,
};
const of = (target: Target, explorationFloor = 0) =>
  targetProbabilities(target, candidates, { prior, explorationFloor });

it("an arm is chosen always, or can't be followed; what was logged is what was logged", () => {
  expect(of({ kind: "arm", name: "b", arm: "b" })).toEqual([0, 1, 0]);
  expect(of({ kind: "arm", name: "d", arm: "d" })).toBeNull();
  expect(of({ kind: "logged", name: "logged" })).toEqual([0.2, 0.3, 0.5]);
});

it("a router policy has the exploration floor with which it is served", () => {
  const [a, b, c] = of(router)!;
  expect(a).toBeCloseTo(0, 9);
  expect(b).toBeCloseTo(c!, 9);
  const floored = of(router, 0.3)!;
  expect(floored[0]).toBeCloseTo(0.1, 9);
  expect(floored.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 9);
});
