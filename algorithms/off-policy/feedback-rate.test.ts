import { describe, expect, it } from "vitest";
import { feedbackRates, leastRate, lengthClass } from "./feedback-rate.ts";

const cell = (arm: string, length: number, decisions: number, rewarded: number) => ({
  ...{ arm, length, domain: "d", decisions, rewarded },
});

describe("feedback rates", () => {
  it("are those of the cells, drawn to the arm's where a cell is small", () => {
    const rates = feedbackRates([cell("a", 0, 8_000, 4_000), cell("a", 1, 2_000, 200), cell("b", 0, 100, 30)]);
    expect(rates.arms).toEqual([
      { arm: "a", decisions: 10_000, rewarded: 4_200, rate: 0.42 },
      { arm: "b", decisions: 100, rewarded: 30, rate: 0.3 },
    ]);
    expect(rates.rateOf("a", 0, "d")).toBeCloseTo((4_000 + 20 * 0.42) / 8_020, 12);
    expect(rates.rateOf("a", 1, "d")).toBeCloseTo((200 + 20 * 0.42) / 2_020, 12);
    // Nothing is known of the cell, or of the arm.
    expect(rates.rateOf("a", 5, "d")).toBeCloseTo(0.42, 12);
    expect(rates.rateOf("c", 0, "d")).toBe(1);
  });

  it("warn beyond a factor of two between arms", () => {
    expect(feedbackRates([cell("a", 0, 100, 40), cell("b", 0, 100, 20)])).toMatchObject({ ratio: 2, uneven: false });
    expect(feedbackRates([cell("a", 0, 100, 41), cell("b", 0, 100, 20)])).toMatchObject({ uneven: true });
    expect(feedbackRates([cell("a", 0, 100, 41), cell("b", 0, 100, 0)])).toMatchObject({
      ratio: Infinity,
      uneven: true,
    });
    expect(feedbackRates([])).toMatchObject({ arms: [], ratio: 1, uneven: false });
    expect(feedbackRates([cell("a", 0, 1e6, 0)]).rateOf("a", 0, "d")).toBe(leastRate);
  });

  it("has eight classes of length", () => {
    expect([-1, 0, 0.124, 0.125, 0.99, 1].map(lengthClass)).toEqual([0, 0, 0, 1, 7, 7]);
  });
});
