import { expect, it } from "vitest";
import { parsePairs } from "./data.ts";

const line = (label: unknown, text_a: unknown = "a?", text_b: unknown = "b?"): string =>
  JSON.stringify({ text_a, text_b, label });
const good = Array.from({ length: 40 }, (_, i) => line(i % 2));

it("reads pairs with labels of either form", () => {
  const pairs = parsePairs([...good, "", line(true, "x", "y")].join("\n"), "f.jsonl");
  expect(pairs).toHaveLength(41);
  expect(pairs[0]).toEqual({ kept: "a?", asked: "b?", same: false });
  expect(pairs.at(-1)).toEqual({ kept: "x", asked: "y", same: true });
});

it.each([
  ["{", /f\.jsonl, line 41 is no JSON/],
  ["[]", /line 41: a line is an object/],
  [line(2), /line 41: "label" must be 0 or 1/],
  [line(1, " "), /line 41: "text_a" must be a text/],
  [line(1, "a", 3), /line 41: "text_b" must be a text/],
])("refuses %s with its line", (bad, message) => {
  expect(() => parsePairs([...good, bad].join("\n"), "f.jsonl")).toThrow(message);
});

it("refuses a file with too few of a label", () => {
  expect(() => parsePairs(good.slice(0, 30).join("\n"), "f.jsonl")).toThrow(/15 pairs with the label 1/);
});
