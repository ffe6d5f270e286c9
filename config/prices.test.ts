import { calcPrice, findProvider } from "@pydantic/genai-prices";
import { describe, expect, it } from "vitest";
import { answerCost } from "../arms/cost.ts";
import { parseConfig } from "./load.ts";
import { pricesUpTo } from "./price-bands.ts";
import { priceList, priceProblem, priceSource, type PricedArm } from "./prices.ts";

const arm = (prices: PricedArm["prices"], more: Partial<PricedArm> = {}): PricedArm => ({ name: "a", prices, ...more });
const usage = { prompt: 1_000, cached: 400, cacheWrite: 100, completion: 50, reasoning: 0 };

describe("prices from the catalogue", () => {
  const providers = ["openai", "anthropic", "google", "deepseek", "x-ai", "mistral", "groq", "moonshotai"];
  it.each(providers)("cost what the package itself says of the models of %s, at any time and length", (id) => {
    const provider = findProvider({ providerId: id })!;
    const days = ["2025-03-01T02:00:00Z", "2025-07-01T17:00:00Z", "2026-08-15T07:30:00Z", "2027-02-01T23:59:00Z"];
    let compared = 0;
    for (const { id: model } of provider.models) {
      const priced = arm({ catalogue: `${id}/${model}` });
      if (priceProblem(priced) !== null) continue;
      const list = priceList(priced);
      const of = priceSource(priced);
      for (const day of days)
        for (const prompt of [1_000, 150_000, 300_000, 1_500_000]) {
          const expected = calcPrice(
            { input_tokens: prompt, cache_read_tokens: 400, cache_write_tokens: 100, output_tokens: 50 },
            model,
            { provider, timestamp: new Date(day) },
          )!;
          const cost = answerCost({ ...usage, prompt }, list, Date.parse(day));
          expect(cost, `${of} ${day} ${prompt}`).toBeCloseTo(expected.total_price, 9);
          compared += 1;
        }
    }
    expect(compared).toBeGreaterThan(20);
  });

  it("are refused where a request has a price of its own", () => {
    expect(priceProblem(arm({ catalogue: "perplexity/sonar" }))).toContain("by tokens of prompt and completion alone");
  });

  it("are found by address and model, or by name", () => {
    const endpoint = { baseUrl: "https://api.openai.com/v1", model: "gpt-4o-mini" };
    expect(priceSource(arm("catalogue", endpoint))).toBe("openai/gpt-4o-mini");
    expect(priceList(arm("catalogue", endpoint))).toMatchObject({ prompt: 0.15, cachedPrompt: 0.075, completion: 0.6 });
    expect(priceSource(arm({ prompt: 1, completion: 2 }))).toBeNull();
  });

  it("give cached tokens their usual share of a configured price", () => {
    const list = priceList(arm({ prompt: 3, completion: 6, catalogue: "openai/gpt-4o-mini" }));
    expect(list).toMatchObject({ prompt: 3, cachedPrompt: 1.5, cacheWrite: 3, completion: 6 });
    const own = priceList(arm({ prompt: 3, completion: 6, cachedPrompt: 2, catalogue: "openai/gpt-4o-mini" }));
    expect(own.cachedPrompt).toBe(2);
    expect(priceList(arm({ prompt: 3, completion: 6 })).cachedPrompt).toBeUndefined();
  });

  it("bound what a call may cost by every price that may hold", () => {
    const list = priceList(arm({ catalogue: "google/gemini-2.5-pro" }));
    expect(pricesUpTo(list, 100_000).map(({ prompt }) => prompt)).toEqual([1.25]);
    expect(pricesUpTo(list, 300_000).map(({ prompt }) => prompt)).toEqual([1.25, 2.5]);
  });

  it.each<[string, Partial<PricedArm> & Pick<PricedArm, "prices">, RegExp]>([
    ["no slash", { prices: { catalogue: "gpt-4o-mini" } }, /write provider\/model/],
    ["an unknown provider", { prices: { catalogue: "nope/gpt-4o-mini" } }, /no provider "nope"/],
    ["an unknown model", { prices: { catalogue: "openai/nope-9" } }, /no model "nope-9" of openai/],
    ["a part of a provider's name", { prices: { catalogue: "xopenaix/gpt-4o" } }, /no provider/],
    [
      "an unknown host",
      { prices: "catalogue", baseUrl: "http://127.0.0.1:8000/v1", model: "m" },
      /no provider at 127.0.0.1:8000/,
    ],
    ["no endpoint", { prices: "catalogue", model: "m.gguf" }, /address and model/],
    ["one price alone", { prices: { prompt: 1 } }, /needs prompt and completion/],
    ["none", { prices: {} }, /needs prompt and completion/],
  ])("are refused for %s, with what to do", (_what, of, message) => {
    expect(priceProblem(arm(of.prices, of))).toMatch(message);
    expect(() => priceList(arm(of.prices, of))).toThrow(message);
  });

  it("are looked up when the configuration is read", () => {
    const read = (prices: string) =>
      parseConfig(
        `arms: [{ name: a, type: openai, baseUrl: "https://api.openai.com/v1", model: gpt-4o-mini, prices: ${prices} }]`,
        {
          ...{ source: "x.yaml", folder: "/", environment: {} },
        },
      );
    expect(() => read("{ catalogue: openai/nope-9 }")).toThrow(/arms\[0\]\.prices.*no model "nope-9"/s);
    expect(read("catalogue").arms[0]?.prices).toBe("catalogue");
    expect(() => read("cheap")).toThrow();
  });
});
