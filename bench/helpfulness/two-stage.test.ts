import { expect, it } from "vitest";
import type { Rated } from "../../operators/select/choose.ts";
import { candidate } from "../../operators/select/fixtures.testing.ts";
import { budgetInTheMean, chooseTwoStage } from "./two-stage.ts";

/** The nearest first; ids are places among the candidates, as rateCandidates gives them. */
const ratedAs = (...candidates: { tokens: number; helpfulness: number }[]): Rated[] =>
  candidates.map((one, i) => ({
    ...candidate(String(i), 1 - i / 10, { request: `request ${i}`, response: `response ${i}` }, i),
    ...{ row: 0, features: () => [], unfit: null },
    ...one,
  }));
const long = ratedAs({ tokens: 40, helpfulness: 0.6 }, { tokens: 100, helpfulness: 0.9 });
const short = ratedAs({ tokens: 100, helpfulness: 0.6 }, { tokens: 20, helpfulness: 0.9 });

it("takes the largest budget that costs no more in the mean than the nearest examples", () => {
  // Alone, the longer example is more than the nearest one has.
  expect(budgetInTheMean([{ rated: long }], 1)).toBe(95);
  // What the one saves the other may spend: 100 + 20 tokens are less than 40 + 100.
  expect(budgetInTheMean([{ rated: long }, { rated: short }], 1)).toBe(200);
});

it("shows the most helpful of what the budget has room for, by default that of the nearest", () => {
  const question = {
    ...{ request: "", references: [], vector: new Float32Array() },
    candidates: [0, 1].map((index) => ({ index, similarity: 1 - index / 10 })),
  };
  const [near, helpful] = question.candidates;
  expect(chooseTwoStage(question, long, 1)).toEqual({ shown: [near], best: helpful });
  expect(chooseTwoStage(question, long, 1, 100)).toEqual({ shown: [helpful], best: helpful });
  expect(chooseTwoStage(question, long, 2)).toEqual({ shown: [helpful, near], best: helpful });
});
