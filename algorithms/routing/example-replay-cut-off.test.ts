import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  enoughExampleReplays,
  priorShare,
  savingCurve,
  savingHours,
  type PastExampleReplay,
} from "./example-replay-cut-off.ts";

const replay = fc.record({
  gain: fc.double({ min: 0, max: 2, noNaN: true }),
  saved: fc.double({ min: -20, max: 200, noNaN: true }),
});
const enough = fc.array(replay, { minLength: enoughExampleReplays, maxLength: 60 });
const amount = fc.double({ min: 0, max: 250, noNaN: true });
const linear = (share: number): PastExampleReplay[] =>
  Array.from({ length: 40 }, (_, i) => ({ gain: (i + 1) / 40, saved: share * savingHours * ((i + 1) / 40) }));

describe("the cut-off of example replay", () => {
  it("is the prior's until there are enough past replays, which must be numbers", () => {
    const few = linear(1).slice(0, enoughExampleReplays - 1);
    const broken = [...few, { gain: 1, saved: Number.NaN }, { gain: Infinity, saved: 1 }];
    for (const past of [[], few, broken]) {
      const curve = savingCurve(past);
      expect(curve.from).toBe("prior");
      expect(curve.cutOff(3)).toBeCloseTo(3 / (priorShare * savingHours));
      expect(curve.expected(curve.cutOff(3))).toBeCloseTo(3);
    }
  });
  it("falls where replays saved more than the prior says, and rises where they saved less", () => {
    const prior = savingCurve([]).cutOff(3);
    expect(savingCurve(linear(0.5)).cutOff(3)).toBeCloseTo(prior / 2);
    expect(savingCurve(linear(0.1)).cutOff(3)).toBeCloseTo(prior * 2.5);
  });
  it("lies beyond all gains where none saved what it cost, and at 0 where replay is free", () => {
    const useless = savingCurve(linear(0));
    expect(useless.cutOff(0.5)).toBe(Infinity);
    expect(useless.cutOff(0)).toBe(0);
    expect(savingCurve([]).cutOff(0)).toBe(0);
  });
  it("counts those that replaced nothing: half of them double the cut-off", () => {
    const half = linear(0.5).flatMap((one) => [one, { ...one, saved: 0 }]);
    expect(savingCurve(half).cutOff(3)).toBeCloseTo(savingCurve(linear(0.5)).cutOff(3) * 2);
  });
  it("expects no less of more gain, never less than 0, and rises with the cost", () => {
    fc.assert(
      fc.property(enough, amount, amount, (past, a, b) => {
        const curve = savingCurve(past);
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        expect(curve.expected(low / 100)).toBeGreaterThanOrEqual(0);
        expect(curve.expected(high / 100)).toBeGreaterThanOrEqual(curve.expected(low / 100) - 1e-9);
        expect(curve.cutOff(high)).toBeGreaterThanOrEqual(curve.cutOff(low) - 1e-9);
      }),
    );
  });
  it("lies where the expected saving is the cost", () => {
    fc.assert(
      fc.property(enough, amount, (past, cost) => {
        const curve = savingCurve(past);
        const gain = curve.cutOff(cost);
        if (Number.isFinite(gain)) expect(curve.expected(gain)).toBeCloseTo(cost, 6);
        else expect(Math.max(...past.map((one) => curve.expected(one.gain)))).toBeLessThan(cost + 1e-9);
      }),
    );
  });
});
