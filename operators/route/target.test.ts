// Probabilities of target policies on one logged decision.
import { expect, it } from "vitest";
import { priorPosterior } from "../../algorithms/routing/bandit.ts";
import { normalCdf } from "../../algorithms/numeric/gaussian.ts";
import type { Exploring } from "./score.ts";
import type { RouterPolicy } from "../../state/policies/router.ts";
import { servingOf, targetProbabilities, type Candidate, type Target } from "./target.ts";

const prior = priorPosterior({ mean: Float64Array.of(0.5, 0), variance: 0.25, noise: 0.1 });
const candidates: Candidate[] = ["a", "b", "c"].map((arm, i) => ({
  ...{ arm, model: arm, context: [1, 0], bias: i === 0 ? 1_000 : 0, probability: [0.2, 0.3, 0.5][i]! },
}));
const router: Target = {
  kind: "router",
  name: "r",
  policy: { version: 0, arms: new Map() } as unknown as RouterPolicy,
};
const of = (target: Target, exploring: Exploring = {}, tenant = "default") =>
  targetProbabilities(target, candidates, { prior, ...exploring }, { tenant, domain: `${tenant}/default` });

it("an arm is chosen always, or can't be followed; what was logged is what was logged", () => {
  expect(of({ kind: "arm", name: "b", arm: "b" })).toEqual([0, 1, 0]);
  expect(of({ kind: "arm", name: "d", arm: "d" })).toBeNull();
  expect(of({ kind: "logged", name: "logged" })).toEqual([0.2, 0.3, 0.5]);
});

it("a router policy by tenant is asked for the tenant of the decision; a tenant that it does not know has the prior", () => {
  const sure = { model: "b", count: 9, mean: [0.9, 0], factor: [100, 0, 100] };
  const tenants = new Map([["one", { arms: new Map([["b", sure]]) }]]);
  const policy = { version: 1, arms: new Map(), tenants } as unknown as RouterPolicy;
  const target: Target = { kind: "router", name: "r", policy };
  expect(of(target, {}, "one")![1]).toBeGreaterThan(0.7);
  expect(of(target, {}, "two")).toEqual(of(router));
});

it("a router policy has the exploration floor with which it is served", () => {
  const [a, b, c] = of(router)!;
  expect(a).toBeCloseTo(0, 9);
  expect(b).toBeCloseTo(c!, 9);
  const floored = of(router, { explorationFloor: 0.3 })!;
  expect(floored[0]).toBeCloseTo(0.1, 9);
  expect(floored.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 9);
});

it("a router policy is drawn as boldly as it is served", () => {
  const biased = candidates.map((one, i) => ({ ...one, bias: i === 1 ? 0.2 : one.bias }));
  const share = (routing: Exploring) =>
    targetProbabilities(
      router,
      biased,
      { ...servingOf({ priorMean: 0.5, priorVariance: 0.25, ...routing }), prior },
      { tenant: "default", domain: "default/default" },
    )![2]!;
  // The difference of two samples, each N(0.5, 0.25), has the deviation 0.707.
  expect(share({})).toBeCloseTo(normalCdf(0.2 / Math.sqrt(0.5)), 9);
  // .5^2 / (.5 + .75) = .2 each.
  expect(share({ indifference: 0.75 })).toBeCloseTo(normalCdf(0.2 / (0.2 * Math.SQRT2)), 9);
});
