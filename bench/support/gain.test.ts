import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decayedGain, useGain } from "./gain.ts";

describe("gain", () => {
  it("of a use is what was missing, at the price of the arm", () => {
    expect(useGain(0.25, 0.8)).toBeCloseTo(0.6);
    expect(useGain(1.2, 1)).toBe(0);
    expect(useGain(-1, 0.5)).toBe(0.5);
  });
  it("fades by the hour, and idle hours count nothing", () => {
    expect(decayedGain([{ hour: 5, total: 10 }], 5, 0.9)).toBeCloseTo(1);
    expect(decayedGain([{ hour: 5, total: 10 }], 7, 0.9)).toBeCloseTo(0.81);
    expect(decayedGain([], 7)).toBe(0);
    expect(decayedGain([{ hour: 9, total: 10 }], 7)).toBe(0);
  });
  it("is a sum: many poor uses outrank one worst", () => {
    const one = decayedGain([{ hour: 1, total: 1 }], 1);
    expect(decayedGain([{ hour: 1, total: 1000 * 0.1 }], 1)).toBeGreaterThan(one);
  });
  it("equals the recursion hour by hour", () => {
    const totals = fc.array(fc.record({ hour: fc.nat(30), total: fc.double({ min: 0, max: 9, noNaN: true }) }));
    fc.assert(
      fc.property(totals, fc.nat(40), (given, now) => {
        let gain = 0;
        for (let hour = 0; hour <= now; hour++) {
          const total = given.filter((entry) => entry.hour === hour).reduce((sum, entry) => sum + entry.total, 0);
          gain = 0.9 * gain + 0.1 * total;
        }
        expect(decayedGain(given, now, 0.9)).toBeCloseTo(gain, 9);
      }),
    );
  });
});
