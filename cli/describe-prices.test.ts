import { expect, it } from "vitest";
import { parseConfig } from "../config/load.ts";
import { describePrices } from "./describe-prices.ts";

const arm = (name: string, more = ""): string =>
  `{ name: ${name}, type: openai, baseUrl: "http://h/v1", model: m${more} }`;
const described = (...arms: string[]): string[] =>
  describePrices(parseConfig(`arms: [${arms.join(", ")}]`, { source: "a test", folder: "/", environment: {} }).arms, 0);

it("names the arms without a price beside one that has prices, for routing takes them for free", () => {
  const priced = arm("a", ", prices: { prompt: 1, completion: 2 }");
  expect(described(priced, arm("b"), arm("c", ", cost: 0.1"))).toEqual([
    "a: prompt 1, cachedPrompt 1 (as prompt), cacheWrite 1 (as prompt), completion 2, reasoning 2 (as completion)",
    "b: none, so routing takes it for free",
  ]);
});

it("has no line where no arm has prices", () => {
  expect(described(arm("a"), arm("b"))).toEqual([]);
});
