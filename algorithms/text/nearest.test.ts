import { expect, it } from "vitest";
import { nearest } from "./nearest.ts";

const keys = ["baseUrl", "model", "costWeight", "maxTokens", "maxTokensField", "name"];

it.each([
  ["baseURL", "baseUrl"],
  ["costWieght", "costWeight"],
  ["max_tokens", "maxTokens"],
  ["modle", "model"],
  ["nam", "name"],
])("takes %s for %s", (given, meant) => {
  expect(nearest(given, keys)).toBe(meant);
});

it.each(["temperature", "url", "x", ""])("takes %s for none", (given) => {
  expect(nearest(given, keys)).toBeUndefined();
});

it("takes nothing for a word where none is known", () => {
  expect(nearest("model", [])).toBeUndefined();
});
