import { describe, expect, it } from "vitest";
import { feedbackRates, leastHeard, leastRate, lengthClass, type Asking } from "./feedback-rate.ts";

const cell = (arm: string, length: number, decisions: number, rewarded: number) => ({
  ...{ arm, length, domain: "d", asking: "never" as const, decisions, rewarded },
});

describe("feedback rates", () => {
  it("are those of the cells, drawn to the arm's where a cell is small", () => {
    const rates = feedbackRates([cell("a", 0, 8_000, 4_000), cell("a", 1, 2_000, 200), cell("b", 0, 100, 30)]);
    expect(rates.arms).toEqual([
      { arm: "a", decisions: 10_000, rewarded: 4_200, rate: 0.42 },
      { arm: "b", decisions: 100, rewarded: 30, rate: 0.3 },
    ]);
    expect(rates.rateOf("a", 0, "d", 0)).toBeCloseTo((4_000 + 20 * 0.42) / 8_020, 12);
    expect(rates.rateOf("a", 1, "d", 0)).toBeCloseTo((200 + 20 * 0.42) / 2_020, 12);
    // Nothing is known of the cell, or of the arm.
    expect(rates.rateOf("a", 5, "d", 0)).toBeCloseTo(0.42, 12);
    expect(rates.rateOf("c", 0, "d", 0)).toBe(1);
  });

  it("warn beyond a factor of two between arms", () => {
    expect(feedbackRates([cell("a", 0, 100, 40), cell("b", 0, 100, 20)])).toMatchObject({ ratio: 2, uneven: false });
    expect(feedbackRates([cell("a", 0, 100, 41), cell("b", 0, 100, 20)])).toMatchObject({ uneven: true });
    expect(feedbackRates([cell("a", 0, 100, 41), cell("b", 0, 100, 0)])).toMatchObject({
      ratio: Infinity,
      uneven: true,
    });
    expect(feedbackRates([])).toMatchObject({ arms: [], ratio: 1, uneven: false });
    expect(feedbackRates([cell("a", 0, 1e6, 0)]).rateOf("a", 0, "d", 0)).toBe(leastRate);
  });

  it("count with the logged probability of being asked", () => {
    const of = (asking: Asking, decisions: number, rewarded: number, arm = "a") => ({
      ...cell(arm, 0, decisions, rewarded),
      asking,
    });
    const rates = feedbackRates([
      ...[of("asked", 80_000, 40_000), of("unasked", 100_000, 2_000), of("never", 1_000, 0)],
      of("asked", 100, 0, "b"),
    ]);
    expect(rates).toMatchObject({ selective: true, silent: 1_000, asking: { unasked: 0.02, never: 0 } });
    // Surely asked; by the random share; not to be asked.
    expect(rates.rateOf("a", 0, "d", 1)).toBeCloseTo(0.5, 12);
    expect(rates.rateOf("a", 0, "d", 0.01)).toBeCloseTo(0.01 * 0.5 + 0.99 * 0.02, 12);
    expect(rates.rateOf("a", 0, "d", 0)).toBe(leastRate);
    const asked = 40_000 / 80_100;
    expect(rates.askedRateOf(0.01)).toBeCloseTo(0.01 * asked + 0.99 * 0.02, 12);
    // b was never left unasked, and says nothing when it is asked.
    expect(rates.rateOf("b", 0, "d", 0.5)).toBeCloseTo(0.5 * leastRate + 0.5 * 0.02, 12);
    expect(feedbackRates([of("asked", 100, 50), of("unasked", 100, 0)]).askedRateOf(1e-9)).toBe(leastHeard);
    // Asking does not raise the rate.
    const even = feedbackRates([of("asked", 100, 50), of("unasked", 100, 50), of("never", 100, 50)]);
    expect(even).toMatchObject({ selective: false, silent: 0 });
    expect(even.rateOf("a", 0, "d", 0.3)).toBeCloseTo(0.5, 12);
    expect(feedbackRates([of("never", 100, 0)])).toMatchObject({ selective: false, silent: 0 });
  });

  it("has eight classes of length", () => {
    expect([-1, 0, 0.124, 0.125, 0.99, 1].map(lengthClass)).toEqual([0, 0, 0, 1, 7, 7]);
  });
});
