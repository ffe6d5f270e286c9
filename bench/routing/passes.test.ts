import { expect, it } from "vitest";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { createFeatures } from "../../algorithms/routing/features.ts";
import { cold, fitted, foldsOf, takenBy, warm, type Field } from "./passes.ts";
import type { LogRow } from "./log.ts";
import { answered, meanOf } from "./tally.ts";
import { byLogistic, byNearest, byTask, nearestRows } from "./rivals.ts";
import { priced, worthAt } from "./worth.ts";

/** Two kinds of requests; each has an arm that is right, and a third arm answers only some. */
function fieldOf(count: number, domains = false): Field {
  const random = splitmix64(9);
  const rows = Array.from({ length: count }, (_, i): LogRow => {
    const code = random() < 0.5;
    const request = code ? `Write a python function number ${i}` : `How many apples are ${i} apples?`;
    const third = i % 3 === 0 ? 0.5 : null;
    return { request, task: code ? "code" : "sums", scores: [code ? 1 : 0, code ? 0 : 1, third], costs: [0, 0, null] };
  });
  const features = createFeatures();
  const vectors = rows.map(({ task }) => Float64Array.of(task === "code" ? 1 : 0, task === "code" ? 0 : 1));
  return {
    log: priced({ rows, arms: ["a", "b", "c"], priced: false }),
    contexts: {
      vectors: vectors.map((vector) => Float32Array.from(vector)),
      at: (row, cost) =>
        features({
          ...{ question: rows[row]!.request, promptCharacters: 30, messages: 1 },
          ...{ embedding: null, examples: [], cost },
        }),
    },
    learner: { prior: { variances: "estimated" }, indifference: 0.1, every: 8 },
    domains,
  };
}

it("learns which arm answers which kind, from chosen answers alone, cold and warm", () => {
  const field = fieldOf(240);
  const worth = worthAt(field.log, 0);
  const pass = cold(field, 0, 1);
  expect([pass.order.length, pass.rated]).toEqual([240, 240]);
  // An arm never answers where it can't.
  expect(pass.order.every((row, at) => field.log.rows[row]!.scores[pass.arms[at]!] !== null)).toBe(true);
  expect(meanOf(answered(worth, [pass], 120))).toBeGreaterThan(0.9);
  const continued = warm(field, 0, 1);
  expect(continued.order).toEqual(pass.order.slice(120));
  expect(meanOf(answered(worth, [continued], 0))).toBeGreaterThan(0.9);
  expect(cold(field, 0, 1)).toEqual(pass);
});

it("learns from what is rated alone, and takes tasks as domains", () => {
  const field = fieldOf(240, true);
  expect(cold(field, 0, 2, 0).rated).toBe(0);
  const some = cold(field, 0, 2, 0.25).rated;
  expect(some).toBeGreaterThan(30);
  expect(some).toBeLessThan(100);
  const asked = cold(field, 0, 2, "asked").rated;
  expect(asked).toBeGreaterThan(0);
  expect(asked).toBeLessThan(240);
});

it("fits all labels, and so do its rivals: each finds the arm of the kind", () => {
  const field = fieldOf(120);
  const worth = worthAt(field.log, 0);
  const folds = foldsOf(field.log);
  expect(folds.flatMap(({ test }) => test).toSorted((a, b) => a - b)).toEqual([...field.log.rows.keys()]);
  for (const fold of folds) {
    const means = fitted(field, fold);
    const taken = means.map((row, at) => worth[fold.test[at]!]![takenBy(row, field.log.armCosts, 0)]!);
    const right = fold.test.map(() => 1);
    expect(taken).toEqual(right);
    expect(byTask(field, worth, fold)).toEqual(right);
    expect(byLogistic(field, worth, fold)).toEqual(right);
    expect(byNearest(worth, nearestRows(field, fold), fold)).toEqual(right);
  }
});

it("refuses a log of one prompt", () => {
  const { log } = fieldOf(30);
  const same = { ...log, rows: log.rows.map((row) => ({ ...row, request: "q" })) };
  expect(() => foldsOf(same)).toThrow(/has 1 different requests/);
});
