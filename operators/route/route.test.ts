import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { constantPrior, emptyStatistics, observe, solvePosterior } from "../../algorithms/routing/bandit.ts";
import { FEATURE_COUNT, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import type { BreakerState } from "../../algorithms/queueing/breaker.ts";
import { winProbabilities } from "../../algorithms/routing/propensity.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { Decision, Request } from "../../schemas/types.ts";
import type { Selected } from "../flow.ts";
import { aContext, anExample, aRequest, decidedOf, NOW, selected } from "../values.testing.ts";
import type { RouteArm } from "../../arms/routed.ts";
import { priorPolicy, type ArmPosterior } from "../../state/policies/router.ts";
import { createCachedShares } from "../../state/cached-shares.ts";
import { choiceProbabilities } from "./score.ts";
import { createRoute, type RouteConfig, type RouteDependencies } from "./route.ts";
import { undecided } from "./score.ts";

const arm = (name: string, cost: number, examples = true): RouteArm => ({
  name,
  model: `${name}-model`,
  cost,
  examples,
  template: "chat-turns",
  maxTokens: 100,
  prices: { prompt: 10 * cost, completion: 10 * cost },
});
const arms = [arm("small", 0.1), arm("large", 1, false)];
const routing: RouteConfig = {
  ...{ costWeight: 0.3, priorMean: 0.5, priorVariance: 0.25, askShare: 0.01 },
  load: { threshold: 0.8 },
  saturation: { threshold: 2 },
};
const loaded = (costlier: number, byArm: Record<string, number> = {}) => ({
  load: () => ({ costlier, byArm: new Map(Object.entries(byArm)) }),
});

function learnt(name: string, reward: number): ArmPosterior {
  const statistics = emptyStatistics(FEATURE_COUNT);
  for (let i = 0; i < 400; i++)
    observe(
      statistics,
      Array.from({ length: FEATURE_COUNT }, (_, k) => (k === 0 ? 1 : Math.sin(i * k + k))),
      reward,
    );
  return {
    model: `${name}-model`,
    count: 400,
    ...solvePosterior(statistics, constantPrior(FEATURE_COUNT, 0.5, 0.25, 0.1)),
  };
}
const policyOf = (rewards: Record<string, number>, version = 4) => ({
  policy: {
    ...priorPolicy,
    version,
    arms: new Map(Object.entries(rewards).map(([name, reward]) => [name, learnt(name, reward)])),
  },
  problem: null,
});

async function decide(
  change: Partial<RouteDependencies> = {},
  input: Partial<Selected> = {},
  request: Partial<Request> = {},
): Promise<Decision> {
  const dependencies = {
    policy: () => ({ policy: priorPolicy, problem: null }),
    arms: () => arms,
    ...loaded(0),
    random: splitmix64(1),
    clock: () => NOW,
    routing,
    ...change,
  };
  const outcome = await createRoute(dependencies)(selected(input, request), aContext());
  if (outcome.kind !== "ok") throw new Error(JSON.stringify(outcome));
  return decidedOf(outcome.value).decision;
}
const allow = (change: Partial<Request["allow"]>): Partial<Request> => ({
  allow: { arms: null, maxCost: null, deadlineMs: null, costWeight: null, ...change },
});

describe("route", () => {
  it("explores from the prior until something is learnt, and writes everything down", async () => {
    const examples = [anExample("e1", 0.6), anExample("e2", 0.9)];
    const decision = await decide(
      {},
      {
        examplesByArm: new Map([
          ["small", examples],
          ["large", examples],
        ]),
        degraded: ["x"],
      },
    );
    expect(decision).toMatchObject({
      requestId: "r1",
      partition: 2,
      offset: 7,
      domain: "acme/default",
      policyVersion: 0,
      featureVersion: FEATURE_VERSION,
      threshold: 0.5,
      degraded: ["x"],
      asked: false,
    });
    const [small, large] = decision.arms;
    expect(small).toMatchObject({ arm: "small", model: "small-model", cost: 0.1, bias: 0.03, mean: 0.5 });
    expect(small!.examples.map(({ id }) => id)).toEqual(["e1", "e2"]);
    expect(small!.context).toHaveLength(FEATURE_COUNT);
    expect(large!.examples).toEqual([]);
    expect(small!.probability + large!.probability).toBeCloseTo(1, 9);
    expect(decision.probability).toBe(decision.arms.find(({ arm: name }) => name === decision.arm)!.probability);
  });

  it("routes and logs by the version that the request's variant names", async () => {
    const policies = [policyOf({ small: 0, large: 1 }, 9), policyOf({ small: 1, large: 0 }, 4)] as const;
    const policy = (routerVersion?: number) => policies[routerVersion === 4 ? 1 : 0];
    const [newest, old] = [await decide({ policy }), await decide({ policy }, { routerVersion: 4 })];
    expect([newest, old]).toMatchObject([
      { arm: "large", policyVersion: 9 },
      { arm: "small", policyVersion: 4 },
    ]);
    expect(Math.min(newest.probability, old.probability)).toBeGreaterThan(0.99);
  });

  it("chooses as often as it says", async () => {
    const random = splitmix64(99);
    const three = [...arms, arm("middle", 0.4)];
    const counts = new Map<string, number>();
    const rounds = 4_000;
    const route = createRoute({
      policy: () => policyOfThree,
      arms: () => three,
      ...loaded(0.9, { small: 2.3 }),
      random,
      clock: () => NOW,
      routing,
    });
    let reported: Decision["arms"] = [];
    for (let round = 0; round < rounds; round++) {
      const outcome = await route(selected(), aContext());
      if (outcome.kind !== "ok") throw new Error(outcome.kind);
      reported = outcome.value.choice.arms;
      counts.set(outcome.value.choice.arm, (counts.get(outcome.value.choice.arm) ?? 0) + 1);
    }
    for (const { arm: name, probability } of reported) {
      const error = Math.sqrt((probability * (1 - probability)) / rounds);
      expect(Math.abs((counts.get(name) ?? 0) / rounds - probability)).toBeLessThan(5 * error + 1e-3);
    }
  });
  const policyOfThree = policyOf({ small: 0.6, large: 0.8 });

  it("prefers what was learnt to be better, and the small arm when cost matters or load is high", async () => {
    const policy = () => policyOf({ small: 0.2, large: 0.9 });
    const largeShare = async (change: Partial<RouteDependencies>, request: Partial<Request> = {}) =>
      (await decide({ policy, ...change }, {}, request)).arms[1]!.probability;
    const free = await largeShare({}, allow({ costWeight: 0 }));
    expect(free).toBeGreaterThan(0.9);
    expect(await largeShare({}, allow({ costWeight: 5 }))).toBeLessThan(0.1);
    expect(await largeShare(loaded(50), allow({ costWeight: 0 }))).toBeLessThan(0.5);
    expect(await largeShare(loaded(0.8, { small: 2, large: 0.8 }), allow({ costWeight: 0 }))).toBe(free);
    expect((await decide({ policy })).policyVersion).toBe(4);
  });

  it("spares an arm that is itself saturated, the cheapest too, and writes down what that cost it", async () => {
    const policy = () => policyOf({ small: 0.6, large: 0.6 });
    const unloaded = await decide({ policy });
    const busy = await decide({ policy, ...loaded(0, { small: 20 }) });
    const [small, large] = busy.arms;
    expect(unloaded.arms.map(({ saturation }) => saturation)).toEqual([0, 0]);
    expect(unloaded.arms[0]!.probability).toBeGreaterThan(0.5);
    // 1.1 for the quality, 0.3 * 0.9 for the price.
    expect(small!.saturation).toBeCloseTo(1.37, 9);
    expect(small!.bias).toBeCloseTo(1.37 + 0.03, 9);
    expect([large!.saturation, large!.bias]).toEqual([0, 0.3]);
    expect(busy).toMatchObject({ arm: "large" });
    expect(large!.probability).toBeGreaterThan(0.99);
    expect(busy.probability).toBe(large!.probability);
    // What is learnt and whether a comparison is worth it don't depend on the load.
    expect(small!.mean).toBe(unloaded.arms[0]!.mean);
    expect(busy.alternativeArm === null).toBe(unloaded.alternativeArm === null);
  });

  it("takes the weights of both penalties from the configuration where it names them", async () => {
    const load = { ...routing.load, weight: 0 };
    const saturation = { ...routing.saturation, weight: 0.5 };
    const { arms: scores } = await decide({ ...loaded(50, { small: 50 }), routing: { ...routing, load, saturation } });
    expect(scores.map(({ bias }) => bias)).toEqual([0.53, 0.3]);
  });

  it("lets arms that are saturated alike compete as if none were", async () => {
    const policy = () => policyOf({ small: 0.7, large: 0.8 });
    const probabilities = async (dependencies: Partial<RouteDependencies>) =>
      (await decide({ policy, ...dependencies })).arms.map(({ probability }) => probability);
    const free = await probabilities({});
    for (const [i, p] of (await probabilities(loaded(0, { small: 4, large: 4 }))).entries())
      expect(p).toBeCloseTo(free[i]!, 9);
  });

  it("starts an arm whose model changed from the prior", async () => {
    const changed = [{ ...arms[0]!, model: "new" }, arms[1]!];
    const decision = await decide({ policy: () => policyOf({ small: 0.1, large: 0.9 }), arms: () => changed });
    expect(decision.arms[0]!.mean).toBeCloseTo(0.5, 12);
    expect(decision.arms[0]!.deviation).toBeGreaterThan(decision.arms[1]!.deviation);
  });

  it("keeps to the allowed arms and the highest cost", async () => {
    const only = await decide({}, {}, allow({ arms: ["large"] }));
    expect(only.arms.map(({ arm: name }) => name)).toEqual(["large"]);
    expect(only.probability).toBe(1);
    const thrifty = await decide({}, {}, allow({ maxCost: 0.0002 }));
    expect(thrifty.arms.map(({ arm: name }) => name)).toEqual(["small"]);
    await expect(decide({}, {}, allow({ maxCost: 0 }))).rejects.toThrow(
      /too_expensive.*cheapest allowed arm may cost 0.000\d+/,
    );
    await expect(decide({ arms: () => [] }, {}, allow({ arms: ["large"] }))).rejects.toThrow("no_capable_arm");
  });

  it("bounds the cost by what each arm would be sent: its answer, system prompt, examples, documents, tools", async () => {
    const one = { ...arm("small", 0.1), prices: { prompt: 1, completion: 1 } };
    const free = allow({ maxCost: 0.001 });
    const within = async (change: object, input: Partial<Selected> = {}, request: Partial<Request> = {}) =>
      decide({ arms: () => [{ ...one, ...change }], documents }, input, { ...free, ...request }).then(
        () => true,
        (error: unknown) => {
          expect(String(error)).toContain("too_expensive");
          return false;
        },
      );
    const text = "word ".repeat(1_000);
    const documents = { get: () => ({ pieces: [text], title: null }) } as never;
    const long = new Map([["small", [{ ...anExample("e1"), request: text }]]]);
    const params = { ...selected().request.params, maxTokens: 1_000 };
    expect(await within({})).toBe(true);
    expect(await within({ maxTokens: 1_000 })).toBe(false);
    expect(await within({}, {}, { params })).toBe(false);
    expect(await within({ maxTokens: 9_999 }, {}, { params: { ...params, maxTokens: 5 } })).toBe(true);
    expect(await within({ system: text })).toBe(false);
    expect(await within({}, { examplesByArm: long })).toBe(false);
    expect(await within({ examples: false }, { examplesByArm: long })).toBe(true);
    expect(await within({}, {}, { documents: ["d"] })).toBe(false);
    const tools = { passthrough: JSON.stringify({ tools: [{ description: text }] }), requires: ["tools"] };
    expect(await within({ capabilities: ["tools"] }, {}, tools)).toBe(false);
  });

  it("does not choose an arm whose breaker is open; the probability is that among the rest", async () => {
    const probed: string[] = [];
    const health = (states: Record<string, BreakerState>) => ({
      health: { state: (name: string) => states[name] ?? "closed", probed: (name: string) => void probed.push(name) },
    });
    const three = { arms: () => [...arms, arm("middle", 0.4)] };
    const without = await decide({ arms: () => [arms[0]!, arm("middle", 0.4)], random: splitmix64(3) });
    const open = await decide({ ...three, ...health({ large: "open" }), random: splitmix64(3) });
    expect(open).toMatchObject({ breakers: { large: "open" }, degraded: ["breaker"] });
    expect(open.arms.map(({ arm: name, probability }) => [name, probability])).toEqual(
      without.arms.map(({ arm: name, probability }) => [name, probability]),
    );
    expect(probed).toEqual([]);
    const all = await decide({ ...three, ...health({ small: "open", middle: "open", large: "open" }) });
    expect(all.arms).toHaveLength(3);
    expect(all).toMatchObject({ degraded: ["breaker"] });
    // Breakers of arms that the request does not allow are not reported.
    const only = await decide({ ...three, ...health({ small: "open" }) }, {}, allow({ arms: ["large"] }));
    expect([only.breakers, only.degraded]).toEqual([{}, []]);
    const probe = await decide({ ...three, ...health({ large: "half-open" }) }, {}, allow({ arms: ["large"] }));
    expect(probe).toMatchObject({ arm: "large", breakers: { large: "half-open" }, degraded: [] });
    expect(probed).toEqual(["large"]);
  });

  it("uses what is believed for the request's tenant; without any, the prior", async () => {
    const own = (small: number, large: number) => ({ arms: policyOf({ small, large }).policy.arms });
    const tenants = new Map([
      ["acme", own(0.9, 0.1)],
      ["other", own(0.1, 0.9)],
    ]);
    const policy = () => ({ policy: { ...priorPolicy, version: 4, tenants }, problem: null });
    const meansOf = async (tenant: string) =>
      (await decide({ policy }, {}, { tenant })).arms.map(({ mean }) => Math.round(mean * 10) / 10);
    expect(await meansOf("acme")).toEqual([0.9, 0.1]);
    expect(await meansOf("other")).toEqual([0.1, 0.9]);
    const unknown = await decide({ policy }, {}, { tenant: "new" });
    const prior = await decide({}, {}, { tenant: "new" });
    expect(unknown.arms).toEqual(prior.arms);
  });

  it("falls back to the default arm, surely and visibly, when the policy can't be used", async () => {
    const broken = policyOf({ small: 0.5, large: 0.5 });
    broken.policy.arms.get("large")!.mean = new Float64Array(FEATURE_COUNT).fill(Number.NaN);
    const foreign = { policy: { ...policyOf({}).policy, featureVersion: FEATURE_VERSION + 1 }, problem: null };
    const refused = { policy: priorPolicy, problem: "router policy 1 is no JSON" };
    for (const state of [broken, foreign, refused])
      expect(await decide({ policy: () => state, routing: { ...routing, defaultArm: "large" } })).toMatchObject({
        arm: "large",
        probability: 1,
        policyVersion: 0,
        degraded: ["policy"],
      });
    expect(await decide({ policy: () => refused })).toMatchObject({ arm: "small", probability: 1 });
    // An older version that works stays in force.
    expect(await decide({ policy: () => ({ ...policyOf({}), problem: "5 is no JSON" }) })).toMatchObject({
      policyVersion: 4,
      degraded: [],
    });
  });

  it("draws a share of the arms evenly, and logs the probability with which the arm was drawn", async () => {
    const known = policyOf({ small: 0.1, large: 0.9 });
    const policy = () => known;
    const plain = await decide({ policy });
    const explorationFloor = 0.2;
    const chosen = new Map<string, number>();
    let probabilities: number[] = [];
    const random = splitmix64(3);
    for (let i = 0; i < 2_000; i++) {
      const decision = await decide({ policy, random, routing: { ...routing, explorationFloor } });
      chosen.set(decision.arm, (chosen.get(decision.arm) ?? 0) + 1);
      probabilities = decision.arms.map(({ probability }) => probability);
      expect(decision.probability).toBe(decision.arms.find(({ arm: name }) => name === decision.arm)!.probability);
    }
    plain.arms.forEach(({ probability }, i) => expect(probabilities[i]).toBeCloseTo(0.8 * probability + 0.1, 12));
    for (const [i, { name }] of arms.entries())
      expect((chosen.get(name) ?? 0) / 2_000).toBeCloseTo(probabilities[i]!, 1);
    expect(probabilities[0]).toBeCloseTo(0.1, 3);
  });

  it("hardly tries what is known to within the indifference, and logs the probability that follows of it", async () => {
    const known = policyOf({ small: 0.5, large: 0.9 });
    const policy = () => known;
    const whole = await decide({ policy });
    for (const indifference of [0, 0.1, 1]) {
      const random = splitmix64(3);
      let [large, logged] = [0, 0];
      for (let i = 0; i < 2_000; i++) {
        const decision = await decide({ policy, random, routing: { ...routing, indifference } });
        if (decision.arm === "large") large++;
        logged = decision.arms[1]!.probability;
        // What is believed does not depend on what is tried.
        expect(decision.arms.map(({ mean, deviation }) => [mean, deviation])).toEqual(
          whole.arms.map(({ mean, deviation }) => [mean, deviation]),
        );
      }
      const scores = whole.arms.map(({ mean, deviation, bias }) => ({
        mean: mean - bias,
        deviation: (deviation * deviation) / (deviation + indifference),
      }));
      expect(logged).toBeCloseTo(winProbabilities(scores)[1]!, 12);
      expect(large / 2_000).toBeCloseTo(logged, 1);
    }
  });

  it("asks where the arms are even by what is believed, whatever is worth trying", async () => {
    const near = { arms: () => [arm("a", 0), arm("b", 0.3)] };
    const askedWith = (indifference: number) =>
      decide({ ...near, routing: { ...routing, indifference } }, {}, { mayAsk: true });
    const [all, little] = [await askedWith(0), await askedWith(20)];
    expect(all.arms[0]!.probability).toBeLessThan(0.6);
    expect(little.arms[0]!.probability).toBeGreaterThan(0.65);
    expect([all.askProbability, little.askProbability]).toEqual([1, 1]);
  });

  it("weighs cost as the request says, else as its tenant's setting, else as all do", async () => {
    const set = { routing: { ...routing, tenantCostWeights: { acme: 2 } } };
    const biasOf = async (change: object, request: Partial<Request> = {}) =>
      (await decide(change, {}, request)).arms[1]!.bias;
    expect(await biasOf(set)).toBeCloseTo(2, 12);
    expect(await biasOf(set, allow({ costWeight: 0.5 }))).toBeCloseTo(0.5, 12);
    expect(await biasOf(set, { tenant: "constructor" })).toBeCloseTo(0.3, 12);
  });

  it("takes what the policy believes of arms without rewards, where it says so", async () => {
    const { policy, problem } = policyOf({ small: 0.5 });
    const decision = await decide({ policy: () => ({ policy: { ...policy, prior: learnt("any", 0.8) }, problem }) });
    expect(decision.arms[1]!.mean).toBeCloseTo(0.8, 1);
    expect((await decide({ policy: () => ({ policy, problem }) })).arms[1]!.mean).toBe(0.5);
  });

  it("lets no NaN reach the model", async () => {
    const poisoned = await decide({}, { embedding: Float32Array.of(1, Number.NaN) });
    expect(poisoned.degraded).toEqual(["embedding"]);
    expect(poisoned.arms.every(({ context }) => context.every(Number.isFinite))).toBe(true);
    const strange = await decide({}, { examplesByArm: new Map([["small", [anExample("e", Number.NaN)]]]) });
    expect(strange).toMatchObject({ arm: "small", probability: 1, degraded: ["features"] });
    expect(strange.arms[0]!.context).toEqual([]);
    expect((await decide({}, { embedding: null })).degraded).toEqual([]);
    expect((await decide(loaded(Number.NaN, { small: Number.NaN, large: Infinity }))).load).toBe(0);
  });

  it("asks only those who may be asked, and logs an alternative arm when the first is hardly better", async () => {
    const even = { arms: () => [arm("a", 0), arm("b", 0), arm("c", 0)] };
    const decision = await decide(even, {}, { mayAsk: true });
    expect(decision).toMatchObject({ asked: true, askProbability: 1, alternative: false });
    expect(decision.alternativeArm).not.toBe(decision.arm);
    expect(decision.alternativeProbability).toBeCloseTo(0.5, 9);
    expect(await decide(even)).toMatchObject({ asked: false, askProbability: 0 });
    const clear = await decide({ policy: () => policyOf({ small: 0.9, large: 0.1 }) });
    expect([clear.alternativeArm, clear.alternativeProbability]).toEqual([null, null]);
  });

  it("asks a random share where the arms are far apart, logs that share, and asks none with askShare 0", async () => {
    const policy = policyOf({ small: 0.9, large: 0.1 });
    const random = splitmix64(5);
    let asked = 0;
    for (let i = 0; i < 500; i++) {
      const decision = await decide(
        { policy: () => policy, random, routing: { ...routing, askShare: 0.1 } },
        {},
        { mayAsk: true },
      );
      expect(decision.askProbability).toBe(0.1);
      asked += Number(decision.asked);
    }
    expect(asked).toBeGreaterThan(25);
    expect(asked).toBeLessThan(85);
    const none = { arms: () => [arm("a", 0), arm("b", 0)], routing: { ...routing, askShare: 0, askWithin: 0 } };
    expect(await decide(none, {}, { mayAsk: true })).toMatchObject({
      asked: false,
      askProbability: 0,
      alternativeArm: null,
    });
  });

  it("always gives a probability in (0, 1] that belongs to the chosen arm", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 6 }),
        async (seed, costs) => {
          const many = costs.map((cost, i) => arm(`a${i}`, cost));
          const decision = await decide({ random: splitmix64(seed), arms: () => many, ...loaded(2, { a0: 3 }) });
          expect(decision.probability).toBeGreaterThan(0);
          expect(decision.probability).toBeLessThanOrEqual(1);
          expect(decision.arms.reduce((sum, { probability }) => sum + probability, 0)).toBeCloseTo(1, 9);
        },
      ),
      { numRuns: 50 },
    );
  });
});

it("calls two arms undecided up to a standard deviation of 0.1, as the paper does", () => {
  expect(undecided([0.6, 0.4])).toBe(true);
  expect(undecided([0.61, 0.39])).toBe(false);
  expect(undecided([1])).toBe(false);
});

describe("prompts that an engine has cached", () => {
  const cachedArm = (name: string, cost: number): RouteArm => ({
    ...arm(name, cost),
    prices: { prompt: 10 * cost, cachedPrompt: cost, completion: 10 * cost },
  });
  const two = () => [cachedArm("small", 0.8), cachedArm("large", 1)];
  const first = [{ role: "user" as const, content: "x".repeat(900) }];
  const second = [
    ...first,
    { role: "assistant" as const, content: "y" },
    { role: "user" as const, content: "z".repeat(99) },
  ];
  const policy = () => policyOf({ small: 0.5, large: 0.5 });
  const scoreOf = ({ arms: scores }: Decision, name: string) => scores.find((score) => score.arm === name)!;

  it("make a switch of arms within a conversation cost what the arm's cache is worth", async () => {
    const cached = createCachedShares(() => NOW);
    const change = { policy, arms: two, cached };
    const before = await decide(change, {}, { messages: first, allow: { ...aRequest().allow, arms: ["large"] } });
    expect(before.arms).toMatchObject([{ arm: "large", cost: 1, cachedShare: 0 }]);
    const after = await decide(change, {}, { messages: second });
    const [small, large] = [scoreOf(after, "small"), scoreOf(after, "large")];
    expect(small).toMatchObject({ cost: 0.8, cachedShare: 0 });
    expect(large.cachedShare).toBeCloseTo(0.45, 3);
    // Three quarters of the price are the prompt's, of which 45 % cost a tenth.
    expect(large.cost).toBeCloseTo(0.25 + 0.75 * (0.55 + 0.045), 3);
    expect(large.bias).toBeCloseTo(0.3 * large.cost, 12);
    expect(large.probability).toBeGreaterThan(small.probability);
    const elsewhere = await decide(change, {}, { messages: second, tenant: "other" });
    expect(scoreOf(elsewhere, "large")).toMatchObject({ cost: 1, cachedShare: 0 });
  });

  it("leave probabilities what the logged scores make of them", async () => {
    const cached = { expected: (name: string) => (name === "large" ? 0.9 : 0.2), chosen: () => undefined };
    const decision = await decide({ policy, arms: two, cached });
    const expected = choiceProbabilities(decision.arms);
    expect(decision.arms.map(({ probability }) => probability)).toEqual(expected);
    expect(decision.arms.map(({ cachedShare }) => cachedShare)).toEqual([0.2, 0.9]);
  });

  it("change nothing where cached tokens have no price of their own", async () => {
    const cached = { expected: () => expect.fail("asked"), chosen: () => expect.fail("told") };
    const asked = { policy, random: splitmix64(7) };
    const plain = await decide({ ...asked, random: splitmix64(7) });
    expect(await decide({ ...asked, cached: cached })).toEqual(plain);
  });
});
