import { expect, it } from "vitest";
import { parseRoutingLog } from "./data.ts";

const line = (request: unknown, small: unknown, large: unknown): string => JSON.stringify({ request, small, large });
const good = Array.from({ length: 20 }, (_, i) =>
  line(`q${i % 15}`, { model: "s", response: "a", correct: i % 2 === 0 }, { model: "l", response: "b", correct: true }),
);
const parse = (...lines: string[]) => parseRoutingLog(lines.join("\n"), "f.jsonl");

it("reads two models whatever they are called, duplicates, and answers without a text", () => {
  const { rows, models } = parse(...good, "", line("q", { correct: 1 }, { model: "l", correct: 0.5 }));
  expect(models).toEqual({ small: "s", large: "l" });
  expect(rows).toHaveLength(21);
  expect(rows[1]).toEqual({ request: "q1", small: 0, large: 1 });
  expect(rows.at(-1)).toEqual({ request: "q", small: 1, large: 0.5 });
  expect(parse(...good.map((one) => one.replaceAll(/"model":"[sl]",/g, ""))).models).toEqual({
    small: "small",
    large: "large",
  });
});

it.each([
  ["{", /f\.jsonl, line 21 is no JSON/],
  ["[]", /line 21: a line is an object/],
  [line(" ", { correct: true }, { correct: true }), /line 21: "request" must be a text/],
  [line("q", undefined, { correct: true }), /line 21: "small" must be an object/],
  [line("q", { correct: true }, { correct: "yes" }), /line 21: "large.correct" must be true, false, or a number/],
  [line("q", { correct: 2 }, { correct: true }), /line 21: "small.correct"/],
])("refuses %s with its line", (bad, message) => {
  expect(() => parse(...good, bad)).toThrow(message);
});

it("refuses a file that is too small to test on", () => {
  expect(() => parse(...good.slice(0, 3))).toThrow(/has 3 requests: at least 20/);
});
