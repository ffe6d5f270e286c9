import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { constantPrior, emptyStatistics, observe, predict, solvePosterior } from "../../algorithms/routing/bandit.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { sameArms } from "../../state/policies/router.ts";
import type { ArmStatistics } from "../learnt.ts";
import { solve, type SolveConfig } from "./solve.ts";

const config: SolveConfig = { dimension: 4, priorMean: 0.5, priorVariance: 0.25, noiseVariance: 0.1 };

/** Statistics of contexts with their rewards, each of the weight. */
function statisticsOf(
  arm: string,
  contexts: number[][],
  rewards: number[],
  more: Partial<ArmStatistics> = {},
): ArmStatistics {
  const known = emptyStatistics(config.dimension);
  const weight = more.weight ?? 1;
  contexts.forEach((x, i) => observe(known, x, rewards[i] ?? 0, weight));
  return {
    arm,
    model: `${arm}-model`,
    a: Array.from(known.a),
    b: Array.from(known.b),
    rewardSum: weight * rewards.reduce((sum, reward) => sum + reward, 0),
    count: contexts.length,
    lastHour: 3_600,
    newestAt: 5,
    ...more,
    weight: weight * contexts.length,
  };
}
const some = (seed: number, count = 30): number[][] => {
  const random = splitmix64(seed);
  return Array.from({ length: count }, () => [1, random() * 2 - 1, random(), random() * 2 - 1]);
};

describe("solve", () => {
  it("gives the posterior of every arm, and says what it rests on", () => {
    const contexts = some(1);
    const small = statisticsOf(
      "small",
      contexts,
      contexts.map(() => 0.4),
    );
    const large = statisticsOf(
      "large",
      contexts.slice(0, 10),
      contexts.slice(0, 10).map(() => 0.9),
      { newestAt: 9 },
    );
    const solved = solve([small, large], config);
    const prior = constantPrior(4, 0.5, 0.25, 0.1);
    expect(solved.arms.get("small")).toEqual({ model: "small-model", count: 30, ...solvePosterior(small, prior) });
    expect([...solved.arms.keys()]).toEqual(["large", "small"]);
    expect(solved).toMatchObject({ rewards: 40, trainedThrough: 9, problems: [] });
    expect(solved.metrics).toMatchObject({ rewards: 40, arms: 2, "rewards.large": 10 });
    expect(solved.metrics["mean_reward.large"]).toBeCloseTo(0.9, 12);
    expect(solved.metrics.gap_to_best_arm).toBeCloseTo(0.9 - (30 * 0.4 + 10 * 0.9) / 40, 12);
  });

  it("takes the model that an arm was rewarded with last", () => {
    const old = statisticsOf("small", some(1), [], { model: "old", lastHour: 0 });
    const fresh = statisticsOf("small", some(2, 3), [], { model: "fresh" });
    for (const both of [
      [old, fresh],
      [fresh, old],
    ])
      expect(solve(both, config).arms.get("small")).toMatchObject({ model: "fresh", count: 3 });
  });

  it("knows nothing of nothing", () => {
    expect(solve([], config)).toMatchObject({ rewards: 0, trainedThrough: null, metrics: { arms: 0, mean_reward: 0 } });
  });

  it("leaves one poisoned arm to the prior and learns the others", () => {
    const good = statisticsOf("good", some(1), []);
    const poisoned = [
      { ...statisticsOf("nan", some(1), []), a: good.a.map(() => Number.NaN) },
      { ...statisticsOf("infinite", some(1), []), b: good.b.map(() => Infinity) },
      { ...statisticsOf("negative", some(1), []), a: good.a.map((value) => -1e6 * value) },
      { ...statisticsOf("short", some(1), []), a: [1], b: [1] },
      { ...statisticsOf("weightless", some(1), []), weight: Number.NaN },
    ];
    const solved = solve([good, ...poisoned], config);
    expect([...solved.arms.keys()]).toEqual(["good"]);
    expect(solved.problems).toHaveLength(5);
  });

  it("stays finite and right where contexts are nearly the same, huge, tiny, or countless", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1e6 }),
        fc.constantFrom(1e-12, 1e-6, 1, 1e6, 1e9),
        fc.constantFrom(1e-9, 1, 1e9, 1e12),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (seed, scale, weight, reward) => {
          const random = splitmix64(seed);
          // The last three features differ by rounding only: the matrix is singular but for the
          // prior.
          const contexts = Array.from({ length: 20 }, () => {
            const value = scale * (random() - 0.5);
            return [1, value, value * (1 + 1e-15), value];
          });
          const solved = solve(
            [
              statisticsOf(
                "arm",
                contexts,
                contexts.map(() => reward),
                { weight },
              ),
            ],
            config,
          );
          expect(solved.problems).toEqual([]);
          const posterior = solved.arms.get("arm");
          if (posterior === undefined) throw new Error("not solved");
          const { mean, deviation } = predict(posterior, contexts[0] ?? []);
          expect(Number.isFinite(mean)).toBe(true);
          // With weight the prediction is the reward; with hardly any, and contexts of usual size,
          // the prior.
          if (weight >= 1) expect(Math.abs(mean - reward)).toBeLessThan(weight === 1 ? 0.05 : 1e-3);
          else if (scale <= 1) expect(Math.abs(mean - 0.5)).toBeLessThan(1e-3);
          expect(deviation).toBeGreaterThanOrEqual(0);
          if (weight >= 1) expect(deviation).toBeLessThan(0.5);
        },
      ),
    );
  });
});

describe("the same arms", () => {
  const arms = (rewards: number[]) => solve([statisticsOf("arm", some(1, rewards.length), rewards)], config).arms;

  it("are those that differ by rounding at most", () => {
    const one = arms([0.5, 0.2, 0.9]);
    const other = arms([0.5, 0.2, 0.9 + 1e-13]);
    expect(sameArms(one, other)).toBe(true);
    expect(sameArms(one, arms([0.5, 0.2, 0.900001]))).toBe(false);
    expect(sameArms(one, new Map())).toBe(false);
    expect(sameArms(one, new Map([...one].map(([arm, known]) => [arm, { ...known, model: "new" }])))).toBe(false);
  });
});
