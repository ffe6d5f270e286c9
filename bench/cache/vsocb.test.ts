import { describe, expect, it } from "vitest";
import { knapsack } from "../../algorithms/selection/knapsack.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { costRadius, leastPopularity } from "./bounds.ts";
import { createVsocb, mostCalls } from "./vsocb.ts";

describe("vsocb", () => {
  it("asks its oracle at the first arrival, and never more often than its bound", () => {
    const options = { rounds: 3_000, queries: 20, alpha: 0.5, scale: 0, solve: knapsack };
    const policy = createVsocb(12, options);
    const random = splitmix64(1);
    for (let round = 0; round < options.rounds; round++) {
      const id = Math.floor(20 * random() ** 2);
      if (!policy.arrive(id).hit) policy.answered(id, 1 + (id % 5), 1 + random());
      if (round === 0) expect(policy.calls()).toBe(1);
    }
    expect(policy.calls()).toBeGreaterThan(20);
    expect(policy.calls()).toBeLessThanOrEqual(mostCalls(options));
  });

  it("with the paper's constants nothing is worth anything for hundreds of rounds: as printed that empties it", () => {
    const options = { rounds: 1_000, queries: 2, alpha: 0.5, scale: 1, solve: knapsack };
    const [repaired, printed] = [createVsocb(2, options), createVsocb(2, { ...options, flushWorthless: true })];
    for (const policy of [repaired, printed]) {
      policy.arrive("a");
      policy.answered("a", 1, 1);
    }
    expect(repaired.has("a")).toBe(true);
    expect(printed.has("a")).toBe(false);
  });

  it("bounds: closer with more observations, never above what was seen", () => {
    const horizon = { rounds: 20_000, queries: 100 };
    const radius = costRadius(horizon, 1);
    expect(radius(1)).toBeCloseTo(Math.sqrt(Math.log(8 * 100 * 20_000 ** 2) / 2), 12);
    expect(radius(400)).toBeCloseTo(radius(100) / 2, 12);
    const least = leastPopularity(horizon, 1);
    expect(least(10, 100)).toBe(0);
    expect(least(2_000, 20_000)).toBeGreaterThan(0.07);
    expect(least(2_000, 20_000)).toBeLessThan(0.08);
  });
});
