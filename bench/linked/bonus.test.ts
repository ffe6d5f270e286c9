import { expect, it } from "vitest";
import type { HelpfulnessData } from "../helpfulness/data.ts";
import { streamOf } from "./bonus.ts";

const pool = ["x", "x", "y", "z", "u", "v"].map((request, i) => ({ request, response: `${i}` }));
const near = (...indices: number[]) => ({
  ...{ request: "", references: [], vector: new Float32Array() },
  candidates: indices.map((index) => ({ index, similarity: 1 })),
});
const data: HelpfulnessData = {
  pool,
  vectors: [],
  train: [],
  unseen: [],
  dev: [near(0, 1, 2, 3), near(3, 4, 5), near(5)],
};
const plan = { warmUp: 0, bonuses: [0] };

it("asks different requests of a few topics, each once, mixed", () => {
  expect(streamOf(data, { ...plan, topics: 2, requests: 3 }).toSorted()).toEqual([0, 2, 3, 4, 5]);
  expect(streamOf(data, { ...plan, topics: 1, requests: 2 }).toSorted()).toEqual([0, 2]);
  expect(streamOf(data, { ...plan, topics: 2, requests: 3 })).toEqual(
    streamOf(data, { ...plan, topics: 2, requests: 3 }),
  );
});
