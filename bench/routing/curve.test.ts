import fc from "fast-check";
import { expect, it } from "vitest";
import { apgr, cpt, curveOf, meanCurve, rankingOf } from "./curve.ts";

const ones = (n: number): Float64Array => new Float64Array(n).fill(1);
const all = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const of = (scores: readonly number[], gains: readonly number[], weights = ones(gains.length)) =>
  curveOf([rankingOf(all(gains.length), scores)], Float64Array.from(gains), weights);

it("gives chance a half, whatever the gains, when all scores are the same", () => {
  const curve = of([3, 3, 3, 3], [1, -1, 0, 1]);
  expect(apgr(curve)).toBeCloseTo(0.5, 9);
  expect(cpt(curve, 0.5)).toBeCloseTo(0.5, 9);
  expect(cpt(curve, 0.8)).toBeCloseTo(0.8, 9);
});

it("counts by hand: two of four requests are gained, ranked first, last, or between", () => {
  // PGR rises to 1 at half of the calls and stays: 0.25 / 2 * 2 + 0.5 = 0.75.
  const best = of([4, 3, 2, 1], [1, 1, 0, 0]);
  expect(apgr(best)).toBeCloseTo(0.75, 6);
  expect(cpt(best, 0.5)).toBeCloseTo(0.25, 6);
  expect(cpt(best, 0.8)).toBeCloseTo(0.4, 6);
  expect(apgr(of([1, 2, 3, 4], [1, 1, 0, 0]))).toBeCloseTo(0.25, 6);
  // Where the small model is right alone, PGR goes above 1 on the way.
  expect(apgr(of([4, 3, 2, 1], [1, 1, 0, -1]))).toBeCloseTo(1.375, 6);
});

it("has no curve where the large model is no better", () => {
  expect(apgr(of([1, 2], [1, -1]))).toBeNaN();
  expect(cpt(of([1, 2], [0, -1]), 0.5)).toBeNaN();
});

it("counts a weight of two as the request twice", () => {
  const twice = of([3, 2, 2, 1], [1, 0, 0, 1]);
  const weighted = of([3, 2, 1], [1, 0, 1], Float64Array.of(1, 2, 1));
  for (const [k, value] of twice.entries()) expect(weighted[k]).toBeCloseTo(value, 9);
});

it("sets the threshold of each fold at the same share: scores of folds need no common scale", () => {
  const gains = Float64Array.of(1, 0, 1, 0);
  const rankings = [rankingOf([0, 1], [0.2, 0.1]), rankingOf([2, 3], [9, 8])];
  expect(apgr(curveOf(rankings, gains, ones(4)))).toBeCloseTo(0.75, 6);
  expect(apgr(meanCurve([curveOf(rankings, gains, ones(4)), of([1, 1, 1, 1], [1, 0, 1, 0])]))).toBeCloseTo(0.625, 6);
});

it("mirrors: a ranking and its reverse have areas that add up to 1", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 5 }), fc.constantFrom(-1, 0, 1, 1)), { minLength: 2, maxLength: 40 }),
      (rows) => {
        const gains = [...rows.map(([, gain]) => gain), ...ones(rows.length), 1];
        const scores = [...rows.map(([score]) => score), ...rows.map(([score]) => score + 0.5), 2];
        const up = apgr(of(scores, gains));
        const down = apgr(
          of(
            scores.map((score) => -score),
            gains,
          ),
        );
        expect(up + down).toBeCloseTo(1, 6);
      },
    ),
  );
});
