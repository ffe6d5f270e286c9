import { describe, expect, it } from "vitest";
import { priceList } from "../config/prices.ts";
import { armSchema, type ArmConfig } from "../config/schema.ts";
import { splitmix64 } from "../algorithms/numeric/random.ts";
import { answerCost, costAtMost, normalisedCosts } from "./cost.ts";
import { promptTokens, textsSent } from "../algorithms/text/prompt-tokens.ts";

const arm = (name: string, prices: ArmConfig["prices"], cost?: number): ArmConfig =>
  armSchema.parse({ name, type: "recorded", file: "x", prices, ...(cost === undefined ? {} : { cost }) });

describe("cost", () => {
  it("charges prompt and completion per million tokens", () => {
    expect(answerCost({ prompt: 1000, completion: 200 }, { prompt: 2, completion: 10 })).toBeCloseTo(0.004, 12);
  });

  it("sets the most expensive arm to 1, a free one to 0, and lets the configuration override", () => {
    const costs = normalisedCosts([
      arm("free", { prompt: 0, completion: 0 }),
      arm("large", { prompt: 4, completion: 16 }),
      arm("half", { prompt: 2, completion: 8 }),
      arm("fixed", { prompt: 0, completion: 0 }, 0.2),
    ]);
    expect(Object.fromEntries(costs)).toEqual({ free: 0, large: 1, half: 0.5, fixed: 0.2 });
  });

  it("is 0 for every arm when none has a price", () => {
    expect([
      ...normalisedCosts([arm("a", { prompt: 0, completion: 0 }), arm("b", { prompt: 0, completion: 0 })]).values(),
    ]).toEqual([0, 0]);
  });
});

describe("cost of details", () => {
  const list = { prompt: 2_000, cachedPrompt: 200, cacheWrite: 2_500, completion: 10_000, reasoning: 8_000 };
  const usage = { prompt: 100, cached: 60, cacheWrite: 30, completion: 20, reasoning: 15 };

  it.each<[string, object, object, number]>([
    ["each at its price", {}, {}, 10 * 2_000 + 60 * 200 + 30 * 2_500 + 5 * 10_000 + 15 * 8_000],
    [
      "the prompt's price where theirs is absent",
      {},
      { cachedPrompt: undefined, cacheWrite: undefined },
      200_000 + 170_000,
    ],
    ["the completion's where reasoning has none", { cached: 0, cacheWrite: 0 }, { reasoning: undefined }, 400_000],
    ["at most the whole", { cached: 900, cacheWrite: 900, reasoning: 900 }, {}, 100 * 200 + 20 * 8_000],
    ["none that is negative or no number", { cached: -5, cacheWrite: NaN, reasoning: -1 }, {}, 400_000],
  ])("is %s", (_how, change, prices, millionths) => {
    const all = { ...list, ...prices };
    expect(answerCost({ ...usage, ...change }, all) * 1e6).toBeCloseTo(millionths, 6);
  });

  it("equals a recount token by token, over 2,000 odd usages, and stays below costAtMost()", () => {
    const random = splitmix64(1n);
    const upTo = (most: number): number => Math.floor(random() * (most + 1));
    for (let n = 0; n < 2_000; n++) {
      const [prompt, completion] = [upTo(300), upTo(100)];
      const odd = (whole: number): number => [0, -1 - upTo(9), upTo(whole), whole, whole + upTo(500)][upTo(4)]!;
      const of = { prompt, completion, cached: odd(prompt), cacheWrite: odd(prompt), reasoning: odd(completion) };
      const prices = {
        prompt: upTo(9),
        cachedPrompt: upTo(9),
        cacheWrite: upTo(12),
        completion: upTo(30),
        reasoning: upTo(30),
      };
      let millionths = 0;
      for (let i = 0; i < prompt; i++)
        millionths +=
          i < of.cached
            ? prices.cachedPrompt
            : i < Math.max(0, of.cached) + of.cacheWrite
              ? prices.cacheWrite
              : prices.prompt;
      for (let i = 0; i < completion; i++) millionths += i < of.reasoning ? prices.reasoning : prices.completion;
      expect(answerCost(of, prices), JSON.stringify({ of, prices })).toBe(millionths / 1e6);
      expect(costAtMost({ maxTokens: completion, prices }, prompt, null)).toBeGreaterThanOrEqual(millionths / 1e6);
    }
  });
});

describe("what is written to a cache for an hour", () => {
  const list = { prompt: 4, cacheWrite: 5, completion: 0 };
  const million = 1_000_000;
  it.each([
    ["costs twice the prompt's price, the rest the price of five minutes", {}, 0.25, 0.25 * 8 + 0.75 * 5],
    ["is at most what was written", {}, 3, 8],
    ["costs no less than five minutes", { cacheWrite: 9 }, 1, 9],
    ["costs what any prompt does where writes have no price", { cacheWrite: undefined }, 1, 4],
    ["is none that is negative", {}, -1, 5],
  ])("%s", (_name, prices, hour, cost) => {
    const usage = { prompt: million, cacheWrite: million, completion: 0, hourWrite: hour * million };
    expect(answerCost(usage, { ...list, ...prices })).toBeCloseTo(cost, 9);
  });

  it("is within the bound of a call whose client may have asked for it", () => {
    const arm = { maxTokens: 0, prices: list };
    expect([costAtMost(arm, million, 0), costAtMost(arm, million, 0, "{}")]).toEqual([5, 8]);
  });
});

describe("what a provider charges beside tokens", () => {
  const list = { prompt: 2, completion: 10, toolUses: 10 };
  const body = (more: object): string => JSON.stringify({ anthropic: { messages: [], ...more } });
  const search = { type: "web_search_20260209", name: "web_search" };
  const bound = (more: object): number => costAtMost({ maxTokens: 100_000, prices: list }, 500_000, null, body(more));

  it("is added by use, and tokens cost a tenth more in one country", () => {
    const usage = { prompt: 500_000, completion: 100_000 };
    expect(answerCost({ ...usage, toolUses: 7 }, list)).toBeCloseTo(2.07, 9);
    expect(answerCost({ ...usage, toolUses: 7 }, { prompt: 2, completion: 10 })).toBeCloseTo(2, 9);
    expect(answerCost({ ...usage, toolUses: 7, isRegional: true }, list)).toBeCloseTo(2.27, 9);
    expect(answerCost({ ...usage, toolUses: -7 }, list)).toBeCloseTo(2, 9);
  });

  it.each<[string, object, number]>([
    ["no tools", {}, 2],
    ["searches with a bound", { tools: [{ ...search, max_uses: 5 }] }, 2.05],
    ["searches without one", { tools: [search] }, 2.2],
    ["searches whose bound is none", { tools: [{ ...search, max_uses: "x" }] }, 2.2],
    ["code", { tools: [{ type: "code_execution_20250825" }, { name: "own" }, null] }, 2.01],
    ["a country", { inference_geo: "us" }, 2.2],
    ["any country", { inference_geo: "global", tools: "x" }, 2],
  ])("is within the bound of a call that asks for %s", (_what, more, expected) => {
    expect(bound(more)).toBeCloseTo(expected, 9);
  });

  it.each<[string, Record<string, unknown>, object, number]>([
    ["a country", { inference_geo: "us" }, {}, 2.2],
    ["any country, whatever the request asks for", { inference_geo: "global" }, { inference_geo: "us" }, 2],
    ["what costs nothing", { priority: 5 }, {}, 2],
  ])("is within the bound of an arm whose body asks for %s", (_what, body, more, expected) => {
    const arm = { maxTokens: 100_000, prices: list, body };
    const native = Object.keys(more).length === 0 ? null : JSON.stringify({ anthropic: { messages: [], ...more } });
    const atMost = costAtMost(arm, 500_000, null, native);
    expect(atMost).toBeGreaterThan(expected);
    expect(atMost).toBeLessThan(expected + 1e-4);
  });

  it("counts the tokens of an arm's body, and the hour that it keeps prompts", () => {
    const kept = { maxTokens: 0, prices: { prompt: 4, cacheWrite: 5, completion: 0 } };
    const cache_control = { type: "ephemeral", ttl: "1h" };
    expect(costAtMost({ ...kept, body: { cache_control } }, 1_000_000, 0)).toBeGreaterThan(8);
    const response_format = { schema: "word ".repeat(300_000) };
    expect(costAtMost({ ...kept, body: { response_format } }, 1_000_000, 0)).toBeGreaterThan(1.3 * 5);
  });

  it("is 10 a thousand where tokens cost something, whatever a batch costs, unless it is configured", () => {
    const uses = (prices: ArmConfig["prices"]) => priceList(arm("a", prices)).toolUses;
    expect(uses({ prompt: 1, completion: 0 })).toBe(10);
    expect(uses({ prompt: 0, completion: 0 })).toBe(0);
    expect(uses({ prompt: 0, completion: 0, toolUses: 3 })).toBe(3);
    expect(uses({ catalogue: "anthropic/claude-sonnet-4-5" })).toBe(10);
    expect(
      priceList({ name: "a", batch: "provider", prices: { prompt: 4, completion: 4, toolUses: 6 } }),
    ).toMatchObject({
      ...{ prompt: 2, toolUses: 6 },
    });
  });
});

describe("data in what passes through", () => {
  const data = (type: string): string => `data:${type};base64,${"QUJD".repeat(5_000)}`;
  const body = (content: unknown, more: object = {}): string =>
    JSON.stringify({ messages: [{ role: "user", content }], ...more });

  it.each<[string, unknown]>([
    ["an image", [{ type: "image_url", image_url: { url: data("image/png") } }]],
    ["an image without a holder", [{ type: "image_url", image_url: data("image/png") }]],
    ["a sound", [{ type: "input_audio", input_audio: { data: data("audio/wav") } }]],
    ["a file", [{ type: "file", file: { file_data: data("application/pdf") } }]],
  ])("is left out where it is that of %s", (_name, content) => {
    expect(textsSent([], body(content))[0]?.length).toBeLessThan(200);
    expect(promptTokens([], body(content))).toBeLessThan(2_700);
  });

  it.each<[string, string]>([
    ["a text", body(data("text/plain"))],
    ["a part that is a text", body([{ type: "text", text: data("text/plain") }])],
    ["another member of a part", body([{ type: "text", text: "", url: data("text/plain"), data: data("a/b") }])],
    ["a tool", body("hi", { tools: [{ function: { description: data("text/plain"), image_url: data("a/b") } }] })],
    ["a text beside the same image", body([{ type: "text", text: data("a/b") }, { image_url: { url: data("a/b") } }])],
  ])("is counted where it is that of %s", (_name, json) => {
    expect(promptTokens([], json)).toBeGreaterThan(5_000);
  });
});
