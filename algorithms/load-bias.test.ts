import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defaultLambda0, loadPenalty, pressure } from "./load-bias.ts";

const bias = { threshold: 0.8, gamma: 3, lambda0: 1 };

/** Choice probability of arm 1 under the softmax of the paper's eq. 12, at a load without bound. */
function limit(mu: readonly [number, number], costs: readonly [number, number], lambda0: number): number {
  const [dear, cheap] = [0, 1].map((i) => Math.exp(mu[i]! - loadPenalty(1e9, costs[i]!, { ...bias, lambda0 })));
  return cheap! / (cheap! + dear!);
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
