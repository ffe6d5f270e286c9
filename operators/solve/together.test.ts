import fc from "fast-check";
import { expect, it } from "vitest";
import { emptyStatistics, observe } from "../../algorithms/routing/bandit.ts";
import { FEATURE_COUNT } from "../../algorithms/routing/features.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { routerPrior } from "../../state/policies/prior.ts";
import type { ArmStatistics, DomainStatistics } from "../learnt.ts";
import { predicted } from "../route/score.ts";
import { solve } from "./solve.ts";

const settings = { priorMean: 0.5, priorVariance: 0.25, noiseVariance: 0.1, variances: "estimated" as const };
const { hierarchy, unknown } = routerPrior(settings);
const solving = { ...settings, dimension: FEATURE_COUNT, hierarchy: hierarchy! };
const names = ["large", "small"];
const x = Array.from({ length: FEATURE_COUNT }, (_, i) => (i === 0 ? 1 : 0));

/** The sums of so many rewarded requests over domains and arms drawn evenly. */
function sumsOf(
  seed: number,
  count: number,
  domains: readonly string[],
  quality: (arm: string, domain: string) => number,
) {
  const random = splitmix64(seed);
  const arms = new Map<
    string,
    { a: Float64Array; b: Float64Array; weight: number; rewardSum: number; squares: number }
  >();
  const by = new Map<string, DomainStatistics>();
  for (let i = 0; i < count; i++) {
    const [arm, domain] = [names[Math.floor(random() * 2)]!, domains[Math.floor(random() * domains.length)]!];
    const context = x.map((value, k) => (k > 1 ? random() - 0.5 : value));
    const reward = Math.min(1, Math.max(0, quality(arm, domain) + 0.4 * (random() - 0.5)));
    const sums = arms.get(arm) ?? { ...emptyStatistics(FEATURE_COUNT), weight: 0, rewardSum: 0, squares: 0 };
    observe(sums, context, reward);
    arms.set(arm, {
      ...sums,
      weight: sums.weight + 1,
      rewardSum: sums.rewardSum + reward,
      squares: sums.squares + reward ** 2,
    });
    const key = `${arm} ${domain}`;
    const own = by.get(key) ?? { domain, arm, model: arm, x: x.map(() => 0), weight: 0, rewardSum: 0 };
    by.set(key, {
      ...own,
      x: own.x.map((value, k) => value + context[k]!),
      weight: own.weight + 1,
      rewardSum: own.rewardSum + reward,
    });
  }
  const statistics = [...arms].map(([arm, { a, b, ...sums }]): ArmStatistics => ({
    ...{ arm, model: arm, a: [...a], b: [...b], ...sums },
    ...{ count: sums.weight, lastHour: 0, newestAt: 0 },
  }));
  return { statistics, domains: [...by.values()] };
}

const beside = (domains: readonly DomainStatistics[]) => ({ pairs: [], halfLifeHours: 1, domains });
const differs = (arm: string, domain: string): number => ((arm === "large") === (domain === "t/hard") ? 0.8 : 0.4);

it("learns which arm a domain prefers where contexts say nothing of it", () => {
  const { statistics, domains } = sumsOf(1, 300, ["t/easy", "t/hard"], differs);
  const solved = solve(statistics, solving, beside(domains));
  expect(solved).toMatchObject({ problems: [], metrics: { domains: 2 } });
  for (const arm of names)
    for (const domain of ["t/easy", "t/hard"]) {
      const beliefs = { arms: solved.arms, here: solved.domains!.get(domain) };
      const { mean, deviation } = predicted(beliefs, unknown, { name: arm, model: arm }, x);
      expect(Math.abs(mean - differs(arm, domain))).toBeLessThan(0.1);
      expect(deviation).toBeLessThan(0.15);
    }
});

it("is as without domains where there is one alone, or those of models that are gone", () => {
  const one = sumsOf(2, 60, ["t/d"], () => 0.6);
  expect(solve(one.statistics, solving, beside(one.domains))).toEqual(solve(one.statistics, solving));
  const two = sumsOf(3, 60, ["t/d", "t/e"], () => 0.6);
  const gone = two.domains.map((sums) => ({ ...sums, model: "before" }));
  expect(solve(two.statistics, solving, beside(gone))).toEqual(solve(two.statistics, solving));
});

it("learns from all domains as one where the sums of one are broken, and says so", () => {
  const { statistics, domains } = sumsOf(4, 60, ["t/d", "t/e"], () => 0.6);
  const broken = domains.map((sums, i) => (i === 0 ? { ...sums, rewardSum: Number.NaN } : sums));
  const solved = solve(statistics, solving, beside(broken));
  expect(solved.problems).toEqual([expect.stringContaining("what domains change")]);
  expect(solved.arms).toEqual(solve(statistics, solving).arms);
});

it("predicts numbers whatever the domains' sums are", () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 80 }), fc.integer({ min: 2, max: 6 }), (seed, count, many) => {
      const all = Array.from({ length: many }, (_, d) => `t/${d}`);
      const { statistics, domains } = sumsOf(seed, count, all, () => 0.6);
      const solved = solve(statistics, solving, beside(domains));
      expect(solved.problems).toEqual([]);
      for (const here of solved.domains?.values() ?? [])
        for (const name of [...names, "new"]) {
          const beliefs = { arms: solved.arms, prior: solved.prior!, here };
          const { mean, deviation } = predicted(beliefs, unknown, { name, model: name }, x);
          expect(Math.abs(mean)).toBeLessThan(2);
          expect(deviation).toBeGreaterThan(0);
        }
    }),
    { numRuns: 15 },
  );
});
