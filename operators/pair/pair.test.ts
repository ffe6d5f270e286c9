import { describe, expect, it } from "vitest";
import type { ArmScore, Request } from "../../schemas/types.ts";
import { emitsOf } from "../call/decision.ts";
import type { Choice } from "../flow.ts";
import { aChoice, aContext, anExample, decidedOf, NOW, selected } from "../values.testing.ts";
import { createPair, type PairDependencies } from "./pair.ts";

const score = (arm: string, change: Partial<ArmScore> = {}): ArmScore => ({
  ...{ arm, model: `${arm}-model`, cost: 0, context: [], mean: 0.5, deviation: 0.1, sampled: 0.5, bias: 0 },
  ...{ saturation: 0, cachedShare: 0, probability: 0.5, examples: [], trial: null },
  ...{ order: "best_last", orderProbability: 1, ...change },
});
const even = aChoice({
  ...{ arms: [score("small"), score("large")], arm: "small", alternativeArm: "large", alternativeProbability: 1 },
  ...{ asked: true, askProbability: 1 },
});
const always = { load: { threshold: 0.8 }, alternativeAnswers: { share: 1, perTenantHour: 100 } };

function setUp(routing: PairDependencies["routing"] = always) {
  const pair = createPair({
    arms: () => [
      { name: "small", examples: true, template: "chat-turns" },
      { name: "large", examples: true, template: "chat-turns", system: "Be brief." },
    ],
    routing,
    clock: () => NOW,
  });
  return async (change: Partial<Choice> = {}, request: Partial<Request> = {}) => {
    const asking = { mayAsk: true, mayCompare: true, ...request };
    const examplesByArm = new Map([["large", [anExample("of-large")]]]);
    const composed = {
      ...{ ...selected({ examplesByArm }, asking), choice: { ...even, ...change }, deadline: NOW + 9 },
      prompt: {
        pieces: [{ kind: "turn" as const, id: null, role: "user" as const, text: "list all files" }],
        ...{ template: "chat-turns/1", cacheKey: "5f", plannedAt: NOW },
      },
    };
    const outcome = await pair(composed, aContext());
    if (outcome.kind !== "ok") throw new Error(outcome.kind);
    const decided = decidedOf(outcome.value);
    return { ...decided, emits: emitsOf(decided) };
  };
}

describe("pair", () => {
  it("adds the work for the alternative arm, with its own prompt and nothing of the cache", async () => {
    const { emits, decision, work } = await setUp()();
    expect(decision.alternative).toBe(true);
    expect(work.decision).toBe(decision);
    expect(emits).toMatchObject([
      { output: "work", arm: "small", key: "r1", record: { role: "answer", cacheKey: "5f" } },
      { output: "decisions", key: "r1", record: { alternative: true, arm: "small" } },
      {
        ...{ output: "work", arm: "large", key: "r1" },
        record: {
          ...{ role: "alternative", cacheKey: null, fallback: null, notAfter: NOW + 9 },
          decision: { alternative: true, alternativeArm: "large" },
          pieces: [
            { kind: "system", text: "Be brief." },
            { kind: "example", id: "of-large" },
            { kind: "example", id: "of-large" },
            { kind: "turn", text: "list all files" },
          ],
        },
      },
    ]);
  });

  it.each<[string, Partial<Choice>, Partial<Request>]>([
    ["the client does not allow it", {}, { mayCompare: false }],
    ["feedback is not asked for", { asked: false }, {}],
    ["the arms are not even", { alternativeArm: null }, {}],
    ["the arm is gone", { alternativeArm: "gone" }, {}],
    ["its breaker is not closed", { breakers: { large: "half-open" } }, {}],
    ["it is saturated", { arms: [score("small"), score("large", { saturation: 0.1 })] }, {}],
    ["the expensive arms are overloaded", { load: 0.9 }, {}],
  ])("adds nothing where %s", async (_, choice, request) => {
    const { emits, decision: after } = await setUp()(choice, request);
    expect(emits.map(({ output }) => output)).toEqual(["work", "decisions"]);
    expect(after.alternative).toBe(false);
  });

  it("keeps to the share of a tenant's requests, and to the number of an hour", async () => {
    const seconds = async (share: number, perTenantHour: number, tenant = "acme") => {
      const pair = setUp({ ...always, alternativeAnswers: { share, perTenantHour } });
      let made = 0;
      for (let i = 0; i < 40; i++) made += Number((await pair({}, { tenant })).decision.alternative);
      return made;
    };
    expect(await Promise.all([seconds(0.1, 100), seconds(1, 7), seconds(0, 100)])).toEqual([4, 7, 0]);
    // Requests that want none count as well.
    const pair = setUp({ ...always, alternativeAnswers: { share: 0.5, perTenantHour: 100 } });
    for (let i = 0; i < 5; i++) await pair({}, { mayCompare: false });
    const made = [1, 2, 3, 4].map(() => pair());
    expect((await Promise.all(made)).map(({ decision }) => decision.alternative)).toEqual([true, true, true, true]);
  });
});
