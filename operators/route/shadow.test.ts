import { expect, it } from "vitest";
import { constantPrior, emptyStatistics, observe, solvePosterior } from "../../algorithms/routing/bandit.ts";
import { FEATURE_COUNT } from "../../algorithms/routing/features.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { priorPolicy, type ArmPosterior, type RouterPolicy } from "../../state/policies/router.ts";
import type { Shadow } from "../../state/policies/shadow.ts";
import type { Decision } from "../../schemas/types.ts";
import { aContext, decidedOf, NOW, selected } from "../values.testing.ts";
import type { RouteArm } from "../../arms/routed.ts";
import { createRoute } from "./route.ts";
import { choiceProbabilities } from "./score.ts";

const arms = ["small", "large"].map((name, i): RouteArm => ({
  ...{ name, model: `${name}-model`, cost: i, examples: false, template: "chat-turns", maxTokens: 100 },
  prices: { prompt: 1, completion: 1 },
}));
const prior = constantPrior(FEATURE_COUNT, 0.5, 0.25, 0.1);
function learnt(name: string, reward: number): ArmPosterior {
  const statistics = emptyStatistics(FEATURE_COUNT);
  for (let i = 0; i < 200; i++)
    observe(
      statistics,
      Array.from({ length: FEATURE_COUNT }, (_, k) => (k === 0 ? 1 : Math.sin(i * k + k))),
      reward,
    );
  return { model: `${name}-model`, count: 200, ...solvePosterior(statistics, prior) };
}
const policy: RouterPolicy = {
  ...{ ...priorPolicy, version: 3 },
  arms: new Map([
    ["small", learnt("small", 0.1)],
    ["large", learnt("large", 1)],
  ]),
};
const broken: RouterPolicy = {
  ...policy,
  arms: new Map([["small", { ...learnt("small", 0.5), mean: new Float64Array(FEATURE_COUNT).fill(Number.NaN) }]]),
};

/** Decisions of many requests in turn, from one random source. */
async function decisions(shadows?: () => readonly Shadow[]): Promise<Decision[]> {
  const route = createRoute({
    policy: () => ({ policy: priorPolicy, problem: null }),
    ...{ arms: () => arms, load: () => ({ costlier: 0.5, byArm: new Map([["small", 1.5]]) }), clock: () => NOW },
    ...{ random: splitmix64(4), ...(shadows && { shadows }) },
    routing: {
      ...{
        costWeight: 0.3,
        priorMean: 0.5,
        priorVariance: 0.25,
        askShare: 0.3,
        indifference: 0.2,
        explorationFloor: 0.1,
      },
      ...{ load: { threshold: 0.2, gamma: 1 }, saturation: { threshold: 1, gamma: 1 } },
    },
  });
  const out: Decision[] = [];
  for (let i = 0; i < 300; i++) {
    const outcome = await route(selected({}, { id: `r${i}` }), aContext());
    if (outcome.kind !== "ok") throw new Error(JSON.stringify(outcome));
    out.push(decidedOf(outcome.value).decision);
  }
  return out;
}

it("changes nothing that is served: the same seed, the same decisions", async () => {
  const without = await decisions();
  const held = await decisions(() => [
    { name: "shadow/1", policy },
    { name: "shadow/2", policy: broken },
  ]);
  expect(held.map((decision) => ({ ...decision, shadows: [] }))).toEqual(without);
  expect(without.every(({ shadows }) => shadows.length === 0)).toBe(true);
  // One that fails is left out.
  for (const { shadows } of held) expect(shadows.map((one) => one.policy)).toEqual(["shadow/1"]);
});

it("logs the probabilities that the policy would have been served with, and chooses as often as it says", async () => {
  const held = await decisions(() => [{ name: "shadow/1", policy }]);
  let [large, expected] = [0, 0];
  for (const { arms: scores, shadows } of held) {
    const [shadow] = shadows;
    const [small, other] = shadow!.arms;
    expect(shadow).toMatchObject({ version: 3, arms: [{ arm: "small" }, { arm: "large" }] });
    // The shadow's beliefs under the biases of the decision.
    const looked = shadow!.arms.map(({ mean, deviation }, i) => ({ mean, deviation, bias: scores[i]!.bias }));
    expect([small!.probability, other!.probability]).toEqual(
      choiceProbabilities(looked, { indifference: 0.2, explorationFloor: 0.1 }),
    );
    expect(other!.mean).toBeGreaterThan(small!.mean);
    expect(shadow!.probability).toBe(shadow!.arms.find(({ arm }) => arm === shadow!.arm)!.probability);
    if (shadow!.arm === "large") large++;
    expected += other!.probability;
  }
  expect(Math.abs(large - expected)).toBeLessThan(4 * Math.sqrt(held.length / 4));
  // A request chooses the same each time.
  const again = await decisions(() => [{ name: "shadow/1", policy }]);
  expect(again.map(({ shadows }) => shadows)).toEqual(held.map(({ shadows }) => shadows));
});

it("an arm that the shadow does not know has the prior", async () => {
  const [first] = await decisions(() => [{ name: "shadow/1", policy: { ...priorPolicy, version: 1 } }]);
  const [score] = first!.arms;
  expect(first!.shadows[0]!.arms[0]).toEqual({
    ...{ arm: "small", mean: score!.mean, deviation: score!.deviation, probability: score!.probability },
  });
});
