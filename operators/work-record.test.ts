import { expect, it } from "vitest";
import type { Work } from "../schemas/types.ts";
import { aDecision, aRequest } from "./values.testing.ts";
import { asRecord } from "./work-record.ts";

const score = {
  ...{ arm: "small", model: "m", cost: 0.1, context: [1, 0.5], mean: 0.6, deviation: 0.1, sampled: 0.7, bias: 0.05 },
  ...{ saturation: 0, cachedShare: 0, probability: 1, order: "best_last", orderProbability: 1, trial: null },
  examples: [
    { id: "e1", similarity: 0.9, helpfulness: 0.8, tokens: 12, explored: false, cachedBonus: 0, features: [0.25, 0.5] },
  ],
};
const work: Work = {
  request: { ...aRequest(), id: "r1" },
  decision: aDecision({ arms: [score], timings: [{ operator: "embed", ms: 3 }] }),
  ...{ role: "answer", pieces: [], fallback: null, cacheKey: null, notAfter: 1, plannedAt: 0, planMs: 0 },
};

it("leaves out what only the log needs, and keeps what an arm that takes over is chosen by", () => {
  const { decision, ...rest } = asRecord(work);
  const { decision: _decision, ...its } = work;
  expect(rest).toEqual(its);
  expect(decision).toEqual({
    ...work.decision,
    timings: [],
    arms: [{ ...score, context: [], examples: [{ ...score.examples[0], features: [] }] }],
  });
  expect(asRecord(asRecord(work))).toEqual(asRecord(work));
});
