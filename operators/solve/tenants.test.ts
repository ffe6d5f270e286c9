import { expect, it } from "vitest";
import { emptyStatistics, observe } from "../../algorithms/routing/bandit.ts";
import { routerPrior } from "../../state/policies/prior.ts";
import { FEATURE_COUNT } from "../../algorithms/routing/features.ts";
import type { ArmStatistics, Solved } from "../learnt.ts";
import { createSolve, solve } from "./solve.ts";
import { createTenantSolver } from "./tenants.ts";

const prior = { priorMean: 0.5, priorVariance: 0.25, noiseVariance: 0.1, variances: "estimated" as const };
const solving = { dimension: FEATURE_COUNT, ...prior, hierarchy: routerPrior(prior).hierarchy! };

function statisticsOf(tenant: string, arm: string, rewards: readonly number[]): ArmStatistics {
  const known = emptyStatistics(FEATURE_COUNT);
  const x = [1, ...new Array<number>(FEATURE_COUNT - 1).fill(0.1)];
  for (const reward of rewards) observe(known, x, reward, 1);
  return {
    ...{ tenant, arm, model: "m", a: Array.from(known.a), b: Array.from(known.b) },
    ...{ weight: rewards.length, rewardSum: rewards.reduce((sum, one) => sum + one, 0), count: rewards.length },
    ...{ lastHour: 3_600, newestAt: 5 },
  };
}
const good = (count: number): number[] => new Array<number>(count).fill(0.9);
const bad = (count: number): number[] => new Array<number>(count).fill(0.1);
const one = statisticsOf("one", "small", good(20));
const two = statisticsOf("two", "small", bad(5));

it("solves each tenant as if there were no other, what its arms have in common included", async () => {
  const aggregate = { statistics: () => Promise.resolve([one, statisticsOf("one", "large", bad(4)), two]) };
  const { solved } = await createSolve({ aggregate, solving, halfLifeHours: 24, byTenant: { mostTenants: 10 } })({
    buckets: 1,
  });
  const alone = solve([two], solving);
  expect(solved.tenants?.get("two")).toEqual({ arms: alone.arms, prior: alone.prior });
  expect([...solved.tenants!.keys()]).toEqual(["one", "two"]);
  expect(solved).toMatchObject({ arms: new Map(), rewards: 29, trainedThrough: 5, problems: [] });
  expect(solved).not.toHaveProperty("prior");
  expect(solved.metrics).toMatchObject({ rewards: 29, tenants: 2, arms: 2, "rewards.small": 25 });
  expect(solved.metrics.mean_reward).toBeCloseTo((20 * 0.9 + 9 * 0.1) / 29, 12);
  expect(solved.metrics["mean_reward.small"]).toBeCloseTo((20 * 0.9 + 5 * 0.1) / 25, 12);
});

it("has the tenants with the most rewards where there are more than it takes", async () => {
  const solver = createTenantSolver((own) => solve(own, solving), { mostTenants: 2 });
  const solved = await solver([two, statisticsOf("three", "small", good(9)), one], []);
  expect([...solved.tenants!.keys()]).toEqual(["one", "three"]);
});

it("solves again only those whose sums changed, and names the tenant of what can't be solved", async () => {
  const solvedFor: string[] = [];
  const solver = createTenantSolver(
    (own): Solved => {
      solvedFor.push(own[0]!.tenant!);
      return solve(own, solving);
    },
    { mostTenants: 10 },
  );
  await solver([one, two], []);
  const again = await solver([one, { ...two, weight: Number.NaN }], []);
  expect(solvedFor).toEqual(["one", "two", "two"]);
  expect(again.problems).toEqual(["two, small: its weight is NaN"]);
  expect([...again.tenants!.keys()]).toEqual(["one"]);
});
