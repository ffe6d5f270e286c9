import { bestLast } from "../algorithms/selection/example-order.ts";
import { stripVTControlCharacters } from "node:util";
import { expect, it } from "vitest";
import type { Inspected } from "../pipelines/plan/selection.ts";
import { chooseExamples, type Rated } from "../operators/select/choose.ts";
import { candidate } from "../operators/select/fixtures.testing.ts";
import { describeSelection } from "./select.ts";

const rated = (id: string, helpfulness: number, axis: number, over: Partial<Rated> = {}): Rated => ({
  ...candidate(id, 0.8, { request: `how to ${id}` }, axis),
  tokens: 10,
  helpfulness,
  row: 0,
  features: () => [0, 0],
  unfit: null,
  ...over,
});
const limits = {
  ...{ examples: 2, threshold: 0.5, tokenBudget: 100, nearDuplicate: 0.95 },
  cachedBonus: 0.02,
};
const chosen = chooseExamples(
  [
    rated("low", 0.1, 0),
    rated("good", 0.7, 1),
    rated("best", 0.9, 2, { cached: true }),
    rated("copy", 0.8, 2),
    rated("more", 0.6, 3),
    rated("mine", Number.NaN, 4, { unfit: "own_request" }),
    rated("huge", Number.NaN, 5, { tokens: Infinity }),
  ],
  limits,
);
const found: Inspected = {
  domain: "acme/shell",
  pool: 50,
  embeddingModel: "test-8",
  byArm: new Map([
    ["small", chosen],
    ["large", { examples: [], order: bestLast, settled: [], open: 0, verdicts: [], trial: null }],
  ]),
  budgets: new Map([["small", 100]]),
  candidates: 7,
  threshold: 0.5,
  exploredThreshold: null,
  helpfulnessVersion: 4,
  nearMiss: null,
  degraded: [],
};

it("shows every candidate with the reason why it is shown or not, the shown ones first", () => {
  // Colours are on where the environment asks for them, as continuous integration does.
  const text = stripVTControlCharacters(describeSelection(found));
  const rows = text.split("\n").filter((line) => line.includes("how to"));
  const of = (row: string | undefined) =>
    (row ?? "")
      .replace(/[^\w\s.,:-]/g, " ")
      .trim()
      .split(/\s{2,}/)[0];
  expect(rows.map(of)).toEqual([
    "shown, 1 from the question",
    "shown, 2 from the question",
    "near-duplicate of best",
    "enough shown",
    "below the threshold",
    "made from this request",
    "larger than the budget",
  ]);
  expect(rows.map((row) => row.includes("+0.02"))).toEqual([true, ...Array<boolean>(6).fill(false)]);
  expect(text).toContain("7 candidates in acme/shell (50 examples in the pool, embedded by test-8)");
  expect(text).toContain("helpfulness by model version 4, threshold 0.5");
  expect(text).toContain("small: 20 of 100 tokens");
  expect(text).toContain("large: is shown no examples");
});

it("keeps to the arms that were asked for, and says what was missing", () => {
  const text = describeSelection(
    { ...found, helpfulnessVersion: 0, degraded: ["helpfulness"] },
    (arm) => arm === "large",
  );
  expect(text).not.toContain("small");
  expect(text).toContain("similarity stands in for helpfulness");
  expect(text).toContain("degraded: helpfulness");
});
