import { describe, expect, it } from "vitest";
import { armSchema } from "../config/schema.ts";
import { plainRequest } from "../schemas/plain-request.ts";
import type { Request } from "../schemas/types.ts";
import { mostCost, mostTokens, routeArms } from "./routed.ts";

const arms = routeArms(
  [
    { name: "small", type: "llama", cost: 0.05, system: "One command.", maxTokens: 64 },
    {
      name: "large",
      type: "recorded",
      file: "log.jsonl",
      examples: false,
      maxTokens: 256,
      prices: { prompt: 2, completion: 10 },
    },
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

describe("what a request may cost", () => {
  const none = { tokenBudget: 0, documentBytes: 1_000_000 };
  const plain = (change: Partial<Request> = {}) => plainRequest("a".repeat(3_000), { id: "r", ...change });
  const allow = (change: Partial<Request["allow"]>) => ({ allow: { ...plain().allow, ...change } });
  const longest = (maxTokens: number | null) => ({ params: { ...plain().params, maxTokens } });
  const cost = (request: Request, additions = none) => mostCost(request, arms, additions) * 1e6;
  /** The large arm's: a turn of 1,000 tokens at 2, answers at 10. */
  const prompt = 2 * 1_005;

  it("is that of the most expensive arm that it allows, and at most allow.max_cost", () => {
    expect(cost(plain())).toBeCloseTo(prompt + 256 * 10, 6);
    expect(cost(plain(allow({ arms: ["small"] })))).toBe(0);
    expect(cost(plain(allow({ arms: [] })))).toBe(0);
    expect(cost(plain(allow({ maxCost: 0.001 })))).toBe(1_000);
  });
  it("is of the longest answer that the request asks for, below and above the arm's own", () => {
    for (const tokens of [1, 255, 257, 100_000, 2 ** 31 - 1])
      expect(cost(plain(longest(tokens)))).toBeCloseTo(prompt + tokens * 10, 2);
  });
  it("is of the system prompt, the examples and the documents that stages add", () => {
    const shown = arms.map((arm) => ({
      ...arm,
      examples: true,
      maxTokens: 256,
      prices: { prompt: 2, completion: 10 },
    }));
    const of = (request: Request, additions = none) => mostCost(request, shown, additions) * 1e6;
    expect(of(plain())).toBeGreaterThan(prompt + 256 * 10);
    expect(of(plain(), { ...none, tokenBudget: 500 }) - of(plain())).toBeGreaterThanOrEqual(2 * 500);
    expect(of(plain({ documents: ["d"] })) - of(plain())).toBeGreaterThanOrEqual((2 * 1_000_000) / 4);
    const guided = shown.map((arm) => ({ ...arm, template: "guided" as const }));
    expect(mostCost(plain(), guided, { ...none, tokenBudget: 500 }) * 1e6).toBeGreaterThan(2 * prompt);
  });
  it("is of tool schemas, formats and images, and not of an image's bytes", () => {
    const messages = [
      {
        role: "user",
        content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(900_000)}` } }],
      },
    ];
    const more = (members: object) => cost(plain({ passthrough: JSON.stringify(members) })) - cost(plain());
    expect(more({ tools: [{ description: "word ".repeat(3_000) }] })).toBeGreaterThan(2 * 3_000);
    expect(more({ response_format: { schema: "word ".repeat(3_000) } })).toBeGreaterThan(2 * 3_000);
    expect(more({ messages })).toBeGreaterThan(1_000);
    expect(more({ messages })).toBeLessThan(10_000);
  });
  it("is no more than a context takes", () => {
    const [small] = arms;
    const paid = [{ ...small!, contextTokens: 2_048, prices: { prompt: 1, completion: 1 } }];
    expect(mostCost(plain(longest(1e6)), paid, none) * 1e6).toBeLessThanOrEqual(2 * 2_048);
    expect(mostTokens(plain(longest(1e6)), paid, none)).toBe(2_048);
  });
  it("counts tokens of prompt and answer as they are estimated", () => {
    const large = arms.slice(1);
    expect(mostTokens(plain(longest(700)), large, none)).toBe(Math.ceil(3_000 / 3.5) + 5 + 700);
    const tools = JSON.stringify({ tools: [{ description: "word ".repeat(700) }] });
    expect(mostTokens(plain({ passthrough: tools }), large, none)).toBeGreaterThan(1_000 + 256);
  });
});

it("bounds an answer of unsaid length by the arm's configuration, else the model's, else its context", () => {
  const of = (more: object) =>
    routeArms(
      [
        armSchema.parse({
          ...{ name: "a", type: "openai", baseUrl: "https://api.openai.com/v1", model: "gpt-4o-mini" },
          ...{ prices: { prompt: 0, completion: 1 }, ...more },
        }),
      ],
      () => "m",
    );
  const none = { tokenBudget: 0, documentBytes: 0 };
  const answer = (more: object) => mostCost(plainRequest("", { id: "r" }), of(more), none) * 1e6;
  expect(answer({ contextTokens: 9_000, maxOutputTokens: 700, maxTokens: 50 })).toBeCloseTo(50, 6);
  expect(answer({ contextTokens: 9_000, maxOutputTokens: 700 })).toBeCloseTo(700, 6);
  expect(answer({ contextTokens: 9_000 })).toBeCloseTo(9_000, 6);
  expect(answer({})).toBeCloseTo(131_072, 6);
  expect(of({ prices: "catalogue" })).toMatchObject([{ contextTokens: 128_000, maxTokens: 128_000 }]);
  // Limits a minute are corrected by the usage: a whole context would let one request in.
  expect(mostTokens(plainRequest("", { id: "r" }), of({}), none)).toBeLessThan(1_100);
  expect(mostTokens(plainRequest("", { id: "r" }), of({ maxTokens: 50 }), none)).toBeLessThan(100);
});

it("tells what of an arm's configuration may change its answers: all but how it is called and paid", () => {
  const settings = (change: object): string | undefined =>
    routeArms([armSchema.parse({ name: "a", type: "recorded", file: "f", ...change })], () => "m")[0]?.settings;
  for (const change of [{ system: "be brief" }, { maxTokens: 3 }, { stop: ["x"] }, { examples: false }, { file: "g" }])
    expect(settings(change)).not.toBe(settings({}));
  expect(settings({ concurrency: 3, dispatch: "inline", cost: 0.5, latencyMs: 9 })).toBe(settings({}));
});
