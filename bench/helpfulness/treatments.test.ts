import { expect, it } from "vitest";
import type { HelpfulnessData, Question } from "./data.ts";
import { labelled, withNearest, withoutExamples, withRandom } from "./treatments.ts";

const question: Question = {
  request: "list files",
  references: ["ls"],
  vector: new Float32Array(2),
  candidates: Array.from({ length: 32 }, (_, i) => ({ index: i, similarity: 1 - i / 100 })),
};
const data: HelpfulnessData = {
  pool: Array.from({ length: 50 }, (_, i) => ({ request: `request ${i}`, response: `response ${i}` })),
  vectors: [],
  train: [],
  unseen: [],
  dev: [question],
};

it("labels the two nearest and four others, the same every time", () => {
  const chosen = labelled(question, 3).map(({ index }) => index);
  expect(chosen.slice(0, 2)).toEqual([0, 1]);
  expect(new Set(chosen).size).toBe(6);
  expect(labelled(question, 3).map(({ index }) => index)).toEqual(chosen);
  expect(labelled(question, 4).map(({ index }) => index)).not.toEqual(chosen);
});

it("puts the nearest last", () => {
  expect(withNearest(data, question, 3).examples.map(({ request }) => request)).toEqual([
    "request 2",
    "request 1",
    "request 0",
  ]);
  expect(withoutExamples(question)).toEqual({ request: "list files", examples: [] });
});

it("draws the same at random every time, and fewer are the last of more", () => {
  const five = withRandom(data, question, 7, 5).examples;
  expect(withRandom(data, question, 7, 5).examples).toEqual(five);
  expect(withRandom(data, question, 7, 3).examples).toEqual(five.slice(-3));
  expect(withRandom(data, question, 8, 5).examples).not.toEqual(five);
});
