import { expect, it } from "vitest";
import { isTwoModelLog, parseMixedLog } from "./log.ts";
import { constant, firstOf, oracleOf, priced, randomOf, ranked, worthAt } from "./worth.ts";

const row = (i: number, arms: unknown, more: object = {}): string =>
  JSON.stringify({ request: `q${i}`, arms, ...more });
const two = { a: { score: 1, cost: 2 }, b: { score: 0.5, cost: 1 } };
const good = Array.from({ length: 20 }, (_, i) => row(i, two));
const parse = (...lines: string[]) => parseMixedLog(lines.join("\n"), "f.jsonl");

it("reads arms with costs, scores alone, and two models", () => {
  const { rows, arms, priced: hasPrices } = parse(...good, row(20, { b: { score: true, cost: 0 } }, { task: "t" }));
  expect({ arms, hasPrices }).toEqual({ arms: ["a", "b"], hasPrices: true });
  expect(rows[0]).toEqual({ request: "q0", task: null, scores: [1, 0.5], costs: [2, 1] });
  expect(rows[20]).toEqual({ request: "q20", task: "t", scores: [null, 1], costs: [null, 0] });
  const scores = good.map((_, i) => JSON.stringify({ request: `q${i % 3}`, task: " ", scores: { x: 0, y: 1 } }));
  expect(parse(...scores)).toMatchObject({ arms: ["x", "y"], priced: false });
  expect(parse(...scores).rows[0]).toMatchObject({ task: null, costs: [null, null] });
  const models = good.map((_, i) =>
    JSON.stringify({ request: `q${i}`, small: { correct: false }, large: { correct: 1 } }),
  );
  expect(isTwoModelLog(models.join("\n"))).toBe(true);
  expect(isTwoModelLog(good.join("\n"))).toBe(false);
  expect(parse(...models)).toMatchObject({ arms: ["small", "large"], priced: true });
});

it.each([
  ["{", /f\.jsonl, line 21 is no JSON/],
  ['{"request": "q", "arms": {"a": {"score": NaN}}}', /line 21 is no JSON/],
  [row(0, undefined), /line 21: a line needs/],
  [row(0, []), /line 21: a line needs/],
  [row(0, {}), /line 21: no arm has an answer/],
  [row(0, { a: null }), /line 21: no arm has an answer/],
  [row(0, { a: 1 }), /line 21: the arm "a" must be an object/],
  [row(0, { a: { score: null, cost: 1 } }), /line 21: the arm "a": its score must be/],
  [row(0, { a: { score: 1.5, cost: 1 } }), /not 1\.5/],
  [row(0, { a: { score: "1", cost: 1 } }), /not "1"/],
  [row(0, { a: { score: 1, cost: -1 } }), /"cost" must be a number of at least 0, not -1/],
  [row(0, { a: { score: 1 } }), /line 21: the arm "a" has no "cost"/],
  [row(0, { " ": { score: 1, cost: 1 } }), /empty name/],
  [row(0, two, { task: 3 }), /line 21: "task" must be a text/],
  [row(0, two, { request: " " }), /line 21: "request" must be a text/],
])("refuses %s with its line", (bad, message) => {
  expect(() => parse(...good, bad)).toThrow(message);
});

it("refuses an empty file, a few rows, and one arm", () => {
  expect(() => parse("")).toThrow(/has 0 requests: at least 20/);
  expect(() => parse(...good.slice(0, 19))).toThrow(/has 19 requests/);
  expect(() => parse(...good.map((_, i) => row(i, { a: two.a })))).toThrow(/one arm "a": a router needs at least two/);
});

it("prices answers by the most expensive arm, and lets others answer where an arm can't", () => {
  const log = priced(parse(...good, row(20, { b: { score: 1, cost: 4 } })));
  expect(log.armCosts[0]).toBe(1);
  expect(log.armCosts[1]).toBeCloseTo(24 / 21 / 2, 12);
  const worth = worthAt(log, 0.5);
  expect([...worth[0]!]).toEqual([0.5, 0.25]);
  expect([...worth[20]!]).toEqual([Number.NaN, 0]);
  const order = ranked(worth, [...log.rows.keys()]);
  expect(order).toEqual([0, 1]);
  expect(firstOf(worth, 20, constant(0, order))).toBe(0);
  expect([oracleOf(worth[20]!), oracleOf(worth[0]!), randomOf(worth[0]!)]).toEqual([0, 0.5, 0.375]);
});
