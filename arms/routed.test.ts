import { expect, it } from "vitest";
import { armSchema } from "../config/schema.ts";
import { plainRequest } from "../schemas/plain-request.ts";
import type { Request } from "../schemas/types.ts";
import { costAtMost, mostCost, routeArms } from "./routed.ts";

const arms = routeArms(
  [
    { name: "small", type: "llama", cost: 0.05, system: "One command.", maxTokens: 64 },
    { name: "large", type: "recorded", file: "log.jsonl", examples: false, prices: { prompt: 2, completion: 10 } },
  ].map((arm) => armSchema.parse(arm)),
  (arm) => `${arm.name}-model`,
);

it("takes what plan needs of an arm from the configuration", () => {
  expect(arms).toMatchObject([
    {
      name: "small",
      model: "small-model",
      cost: 0.05,
      examples: true,
      contextTokens: 2048,
      template: "chat-turns",
      system: "One command.",
      maxTokens: 64,
    },
    { name: "large", model: "large-model", cost: 1, examples: false },
  ]);
});

it("bounds the cost of an answer by the prompt and the shorter of both token limits", () => {
  const [small, large] = arms;
  expect(costAtMost(small!, 4_000, 0, null)).toBe(0);
  expect(costAtMost(large!, 4_000, 500, 100)).toBeCloseTo((1_500 * 2 + 100 * 10) / 1e6, 12);
  expect(costAtMost(large!, 4_000, 500, 1_000_000)).toBeCloseTo((1_500 * 2 + 256 * 10) / 1e6, 12);
});

it("bounds the cost of a request by the most expensive arm that it allows, and by its maximum cost", () => {
  const request = plainRequest("a".repeat(4_000), { id: "r" });
  const shown = arms.map((arm) => (arm.name === "large" ? { ...arm, examples: true } : arm));
  expect(mostCost(request, shown, 500)).toBeCloseTo((1_500 * 2 + 256 * 10) / 1e6, 12);
  const allow = (change: Partial<Request["allow"]>) => ({ ...request, allow: { ...request.allow, ...change } });
  expect(mostCost(allow({ arms: ["small"] }), shown, 500)).toBe(0);
  expect(mostCost(allow({ arms: [] }), shown, 500)).toBe(0);
  expect(mostCost(allow({ maxCost: 0.001 }), shown, 500)).toBe(0.001);
});

it("tells what of an arm's configuration may change its answers: all but how it is called and paid", () => {
  const settings = (change: object): string | undefined =>
    routeArms([armSchema.parse({ name: "a", type: "recorded", file: "f", ...change })], () => "m")[0]?.settings;
  for (const change of [{ system: "be brief" }, { maxTokens: 3 }, { stop: ["x"] }, { examples: false }, { file: "g" }])
    expect(settings(change)).not.toBe(settings({}));
  expect(settings({ concurrency: 3, dispatch: "inline", cost: 0.5, latencyMs: 9 })).toBe(settings({}));
});
