import { expect, it } from "vitest";
import type { ThresholdOutcome } from "../learnt.ts";
import { chooseThreshold } from "./threshold.ts";

const config = { minimumRequests: 100, tokenPrice: 0.05 };
const outcome = (tau: number, meanReward: number, more: Partial<ThresholdOutcome> = {}): ThresholdOutcome => ({
  tau,
  requests: 1_000,
  meanReward,
  meanTokens: 0,
  rewardVariance: 0.04,
  tokensVariance: 0,
  covariance: 0,
  ...more,
});

it("takes the threshold that is surely better, and of several the surest", () => {
  const grid = [outcome(0.4, 0.62), outcome(0.5, 0.6), outcome(0.6, 0.7), outcome(0.7, 0.75, { requests: 120 })];
  // 0.7 is ahead by 0.15 with an error of 0.0194, 0.6 by 0.1 with one of 0.009.
  expect(chooseThreshold(grid, 0.5, config)).toMatchObject({ threshold: 0.7, better: expect.closeTo(0.15, 12) });
  expect(chooseThreshold(grid, 0.6, config).threshold).toBe(0.6);
  expect(chooseThreshold(grid.slice(0, 3), 0.5, config).threshold).toBe(0.6);
});

it("the one in force stays while another is only a little better, was tried too rarely, or it was not measured itself", () => {
  expect(chooseThreshold([outcome(0.5, 0.6), outcome(0.6, 0.62)], 0.5, config)).toMatchObject({
    threshold: 0.5,
    better: 0,
  });
  expect(chooseThreshold([outcome(0.5, 0.1), outcome(0.6, 0.9, { requests: 99 })], 0.5, config).threshold).toBe(0.5);
  expect(chooseThreshold([outcome(0.5, 0.1, { requests: 99 }), outcome(0.6, 0.9)], 0.5, config).threshold).toBe(0.5);
  expect(chooseThreshold([outcome(0.6, 0.9)], 0.5, config).threshold).toBe(0.5);
  expect(chooseThreshold([], 0.5, config)).toEqual({ threshold: 0.5, grid: [], better: 0 });
});

it("the price of the tokens counts, in the mean and in its error", () => {
  const large = outcome(0.4, 0.65, { meanTokens: 2_000, tokensVariance: 10_000, covariance: 5 });
  const found = chooseThreshold([large, outcome(0.5, 0.6)], 0.5, config);
  expect(found.threshold).toBe(0.5);
  expect(found.grid[0]?.gain).toBeCloseTo(0.65 - 0.1, 12);
  const variance = 0.04 - 2 * 0.00005 * 5 + 0.00005 ** 2 * 10_000;
  expect(found.grid[0]?.error).toBeCloseTo(Math.sqrt(variance / 999), 12);
  expect(chooseThreshold([large, outcome(0.5, 0.6)], 0.5, { ...config, tokenPrice: 0 }).threshold).toBe(0.4);
});

it("a constant reward has no error, and rounding makes no NaN of it", () => {
  const found = chooseThreshold([outcome(0.5, 1, { rewardVariance: -1e-18 })], 0.5, config);
  expect(found.grid[0]?.error).toBe(0);
});
