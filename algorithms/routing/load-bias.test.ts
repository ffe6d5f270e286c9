import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  defaultLambda0,
  defaultSaturationWeight,
  loadPenalty,
  pressure,
  saturationPenalty,
  utilisationOf,
} from "./load-bias.ts";

const bias = { threshold: 0.8, gamma: 3, lambda0: 1 };

/** Choice probability of arm 1 under the softmax of the paper's eq. 12, at a load without bound. */
function limit(mu: readonly [number, number], costs: readonly [number, number], lambda0: number): number {
  const [large, small] = [0, 1].map((i) => Math.exp(mu[i]! - loadPenalty(1e9, costs[i]!, { ...bias, lambda0 })));
  return small! / (small! + large!);
}

describe("load bias", () => {
  it("is nothing below the threshold and saturates above", () => {
    expect(loadPenalty(0.8, 1, bias)).toBe(0);
    expect(loadPenalty(0.2, 1, bias)).toBe(0);
    expect(loadPenalty(1e9, 0.5, bias)).toBe(0.5);
    expect(loadPenalty(Number.NaN, 1, bias)).toBe(0);
    expect(pressure(1, bias)).toBeCloseTo(Math.tanh(0.6), 12);
  });

  it("has the limit of specification 20, not that of Theorem 4", () => {
    expect(limit([0.9, 0.6], [1, 0.1], 1)).toBeCloseTo(0.646, 3);
    expect(limit([0.9, 0.6], [1, 0.1], 5)).toBeCloseTo(0.985, 3);
  });

  it("derives a lambda0 with which the cheapest arm wins in overload whatever the qualities", () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.array(fc.record({ mu: share, cost: share }), { minLength: 2, maxLength: 6 }), (arms) => {
        const lambda0 = defaultLambda0(arms.map((arm) => arm.cost));
        const cheapest = Math.min(...arms.map((arm) => arm.cost));
        const scores = arms.map(({ mu, cost }) => ({ cost, score: mu - loadPenalty(1e9, cost, { ...bias, lambda0 }) }));
        const best = scores.reduce((a, b) => (b.score > a.score ? b : a));
        expect(best.cost - cheapest).toBeLessThanOrEqual(0.01);
      }),
    );
    expect(defaultLambda0([1, 0.1])).toBeCloseTo(1.1 / 0.9, 12);
    expect(defaultLambda0([0.5, 0.5])).toBe(0);
  });
});

const share = fc.double({ min: 0, max: 1, noNaN: true });
const utilisation = fc.double({ min: 0, max: 1e6, noNaN: true });
const saturation = fc.record({
  threshold: fc.double({ min: 0, max: 10, noNaN: true }),
  gamma: fc.double({ min: 0.01, max: 10, noNaN: true }),
  weight: fc.double({ min: 0, max: 10, noNaN: true }),
});

describe("penalty for an arm's own saturation", () => {
  it("is 0 up to the threshold, grows with the utilisation and stays within its weight", () => {
    fc.assert(
      fc.property(saturation, utilisation, utilisation, (own, one, other) => {
        const [less, more] = [Math.min(one, other), Math.max(one, other)];
        expect(saturationPenalty(Math.min(less, own.threshold), own)).toBe(0);
        expect(saturationPenalty(less, own)).toBeGreaterThanOrEqual(0);
        expect(saturationPenalty(less, own)).toBeLessThanOrEqual(saturationPenalty(more, own));
        expect(saturationPenalty(more, own)).toBeLessThanOrEqual(own.weight);
      }),
    );
    expect(saturationPenalty(Number.NaN, { threshold: 2, gamma: 1, weight: 1 })).toBe(0);
    expect(saturationPenalty(3, { threshold: 2, gamma: 1, weight: 2 })).toBeCloseTo(2 * Math.tanh(1), 12);
  });

  it("is smooth: a little more work changes the penalty a little, also at the threshold", () => {
    fc.assert(
      fc.property(saturation, utilisation, (own, at) => {
        const step = 1e-3;
        const change = saturationPenalty(at + step, own) - saturationPenalty(at, own);
        expect(change).toBeLessThanOrEqual(own.weight * own.gamma * step * 1.001 + 1e-9);
      }),
    );
  });

  it("ranks no arm among equally busy ones: their scores keep the order that they have without it", () => {
    fc.assert(
      fc.property(fc.array(share, { minLength: 2, maxLength: 6 }), utilisation, saturation, (scores, busy, own) => {
        const lost = scores.map((score) => score - saturationPenalty(busy, own));
        for (const [i, a] of scores.entries())
          for (const [j, b] of scores.entries()) if (a > b) expect(lost[i]).toBeGreaterThanOrEqual(lost[j]!);
      }),
    );
  });

  const quality = fc.array(fc.record({ mu: share, cost: share }), { minLength: 2, maxLength: 6 });
  const scored = (
    arms: readonly { mu: number; cost: number }[],
    { load, busy, costWeight }: { load: number; busy: (i: number) => number; costWeight: number },
  ): number[] => {
    const costs = arms.map(({ cost }) => cost);
    const own = { threshold: 2, gamma: 1, weight: defaultSaturationWeight(costs, costWeight) };
    return arms.map(
      ({ mu, cost }, i) =>
        mu -
        costWeight * cost -
        loadPenalty(load, cost, { ...bias, lambda0: defaultLambda0(costs) }) -
        saturationPenalty(busy(i), own),
    );
  };
  const best = (scores: readonly number[]): number => scores.indexOf(Math.max(...scores));

  it("leaves the overload to the cheapest arm, when it has room and when all are saturated alike", () => {
    fc.assert(
      fc.property(quality, fc.boolean(), share, (arms, all, costWeight) => {
        const cheapest = Math.min(...arms.map(({ cost }) => cost));
        const isCheapest = (i: number): boolean => arms[i]!.cost === cheapest;
        const busy = (i: number): number => (all || !isCheapest(i) ? 1e9 : 0);
        const winner = best(scored(arms, { load: 1e9, busy, costWeight }));
        expect(arms[winner]!.cost - cheapest).toBeLessThanOrEqual(0.01);
      }),
    );
  });

  it("feeds no bottleneck: an idle arm always beats a saturated one, for any qualities and costs", () => {
    fc.assert(
      fc.property(quality, fc.double({ min: 0, max: 20, noNaN: true }), fc.nat(5), (arms, costWeight, pick) => {
        const idle = pick % arms.length;
        const busy = (i: number): number => (i === idle ? 0 : 1e9);
        expect(best(scored(arms, { load: 0, busy, costWeight }))).toBe(idle);
      }),
    );
    expect(defaultSaturationWeight([0.1, 1], 0.3)).toBeCloseTo(1.37, 12);
  });

  it("recovers the utilisation from the penalty, within the penalty's range", () => {
    const bias = { threshold: 2, gamma: 1, weight: 1.37 };
    fc.assert(
      fc.property(fc.double({ min: 0, max: 8, noNaN: true }), (utilisation) => {
        const penalty = saturationPenalty(utilisation, bias);
        expect(saturationPenalty(utilisationOf(penalty, bias), bias)).toBeCloseTo(penalty, 9);
      }),
    );
    expect([utilisationOf(0, bias), utilisationOf(1, { ...bias, weight: 0 })]).toEqual([0, 0]);
    expect(utilisationOf(5, bias)).toBeLessThan(Infinity);
  });
});
