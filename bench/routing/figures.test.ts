import { expect, it } from "vitest";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { figuresOf, resampled } from "./figures.ts";
import type { AtWeight } from "./mixed.ts";
import { answered, gainOver, meanOf, type Tally } from "./tally.ts";

const tally = (...values: number[]): Tally => ({
  sums: Float64Array.from(values),
  counts: new Float64Array(values.length).fill(1),
});
const at = (weight: number, half: Tally, perTask: Tally | null): AtWeight => ({
  ...{ weight, constants: { a: 0.5 }, bestArm: "a" },
  tallies: {
    ...{ router_cold: tally(0.4, 0.6), router_half: half, router_warm: tally(0.6, 0.6), fitted: tally(0.6, 0.7) },
    ...{ best_constant: tally(0.5, 0.5), per_task: perTask, nearest: tally(0, 0), logistic: tally(0, 0) },
    ...{ random: tally(0, 0), oracle: tally(1, 1) },
  },
});
const half: Tally = { sums: Float64Array.of(1.4, 0), counts: Float64Array.of(2, 0) };

it("counts answers of the second half, and the rival on the same ones", () => {
  const worth = [Float64Array.of(1, 0), Float64Array.of(0.25, 0.5), Float64Array.of(0, 1)];
  const passes = [
    { order: [0, 1, 2], arms: [0, 0, 1], rated: 3 },
    { order: [2, 1, 0], arms: [0, 1, 1], rated: 3 },
  ];
  const found = answered(worth, passes, 1);
  expect([...found.sums]).toEqual([0, 0.75, 1]);
  expect([...found.counts]).toEqual([1, 2, 1]);
  const rival = { sums: Float64Array.of(1, 0.25, 0), counts: Float64Array.of(1, 1, 1) };
  expect([...gainOver(found, rival).sums]).toEqual([-1, 0.25, 1]);
  expect(meanOf(gainOver(found, rival))).toBeCloseTo(0.25 / 4, 12);
  const draw = (rows: number[], orders: number[]) => ({ rows: Float64Array.from(rows), orders });
  expect(meanOf(found, draw([0, 1, 0], [1, 1]))).toBeCloseTo(0.375, 12);
  // The second order alone, twice: .5 for row 1, 0 for row 0.
  expect(meanOf(found, draw([1, 1, 1], [0, 2]))).toBeCloseTo(0.25, 12);
  expect(meanOf(gainOver(found, rival), draw([1, 1, 1], [0, 2]))).toBeCloseTo((-1 + 0.25) / 2, 12);
  // A rival that doesn't depend on the order has none to draw.
  expect(meanOf(rival, draw([1, 0, 0], [0, 2]))).toBe(1);
});

it("names the figures as the specification does", () => {
  const { figures, reasons } = figuresOf(
    [at(0, half, tally(0.6, 0.8)), at(0.1, half, tally(0.6, 0.8))],
    ["q", "r"],
    splitmix64(1),
    50,
  );
  expect(reasons).toEqual({});
  expect(figures).toMatchObject({ cold_gain: 0, half_gain: 0.2, half_won: 1, cold_won: 0, free_loss: -0.2 });
  expect(figures["fitted_share"]).toBeCloseTo(0.75, 9);
  expect(figures["fitted_gap"]).toBeCloseTo(0.05, 9);
  expect(figures["worth"]).toMatchObject({ 0.1: { router_half: 0.7, oracle: 1, per_task: 0.7 } });
  expect(figures["cold_gain_low"]).toBeLessThan(0);
});

it("says why a figure is null", () => {
  const { figures, reasons } = figuresOf([at(0, half, null)], ["q", "q"], splitmix64(1), 50);
  expect(figures).toMatchObject({ fitted_share: null, fitted_gap: null, half_won: null });
  expect(Object.keys(reasons)).toEqual(
    expect.arrayContaining(["fitted_share", "fitted_gap", "half_won", "worth.0.per_task"]),
  );
});

it("draws all rows of a prompt together", () => {
  for (const weights of resampled(["q", "r", "q"], splitmix64(2), 20)) {
    expect(weights[0]).toBe(weights[2]);
    expect(weights[0]! + weights[1]!).toBe(2);
  }
});

it("draws the orders too: passes that differ by chance make the interval wide", () => {
  const order = (value: number) => ({ sums: Float64Array.of(value, value), counts: Float64Array.of(1, 1) });
  const passes = (one: number, other: number): Tally => ({
    ...{ sums: Float64Array.of(one + other, one + other), counts: Float64Array.of(2, 2) },
    orders: [order(one), order(other)],
  });
  const widthOf = (cold: Tally): number => {
    const measured = at(0, half, null);
    const tallies = { ...measured.tallies, router_cold: cold };
    const { figures } = figuresOf([{ ...measured, tallies }], ["q", "r"], splitmix64(3), 200);
    expect(figures["cold_gain"]).toBeCloseTo(0.1, 12);
    return Number(figures["cold_gain_high"]) - Number(figures["cold_gain_low"]);
  };
  expect(widthOf(passes(0.6, 0.6))).toBe(0);
  expect(widthOf(passes(0.4, 0.8))).toBeCloseTo(0.4, 12);
});
