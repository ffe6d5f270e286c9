import fc from "fast-check";
import { expect, it } from "vitest";
import { emptyStatistics, observe, predict, priorPosterior } from "./bandit.ts";
import { separateDomains, shifted, withDomains, type DomainSums } from "./domain-shifts.ts";
import { solveHierarchy, type ArmSums, type Hierarchy } from "./hierarchy.ts";
import { estimateVariances } from "./variances.ts";
import { normal, splitmix64, type Random } from "../numeric/random.ts";

const dimension = 3;
const hierarchy: Hierarchy = {
  mean: Float64Array.of(0.5, 0, 0),
  groups: [0, 1, 1],
  variances: { shared: [0.1, 0.02], own: [0.1, 0.02], noise: 0.05 },
};

interface Row {
  arm: number;
  domain: number;
  x: number[];
  reward: number;
}

const rowsOf = (
  random: Random,
  count: number,
  { arms, domains, quality }: { arms: number; domains: number; quality: (arm: number, domain: number) => number },
): Row[] =>
  Array.from({ length: count }, () => {
    const [arm, domain] = [Math.floor(random() * arms), Math.floor(random() * domains)];
    const x = [1, normal(random) / 3, normal(random) / 3];
    return { arm, domain, x, reward: quality(arm, domain) + 0.1 * x[1]! + 0.2 * normal(random) };
  });

/** The rows as ClickHouse sums them, and, beside it, with the domain as features of x. */
function summed(rows: readonly Row[], arms: number, domains: number) {
  const weight = () => ({ weight: 0, squares: 0 });
  const each = Array.from({ length: arms }, () => ({ ...emptyStatistics(dimension), ...weight() }));
  const long = Array.from({ length: arms }, () => ({ ...emptyStatistics(dimension + domains), ...weight() }));
  const by = each.map(() => Array.from({ length: domains }, (): DomainSums | undefined => undefined));
  for (const { arm, domain, x, reward } of rows) {
    observe(each[arm]!, x, reward);
    observe(long[arm]!, [...x, ...Array.from({ length: domains }, (_, d) => (d === domain ? 1 : 0))], reward);
    for (const one of [each[arm]!, long[arm]!]) {
      one.weight++;
      one.squares += reward * reward;
    }
    const { x: sum, weight: before, rewardSum } = by[arm]![domain] ?? { x: x.map(() => 0), weight: 0, rewardSum: 0 };
    by[arm]![domain] = { x: x.map((value, i) => sum[i]! + value), weight: before + 1, rewardSum: rewardSum + reward };
  }
  return { each, long, by };
}

function solved(each: readonly ArmSums[], by: readonly (readonly (DomainSums | undefined)[])[], domains: number) {
  const extended = withDomains(each, by, domains, hierarchy);
  const variances = estimateVariances(extended.arms, extended.hierarchy);
  const long = solveHierarchy(extended.arms, { ...extended.hierarchy, variances });
  return { ...separateDomains(long, dimension), long, variances };
}

it("predicts what the same regression with the domains as features predicts", () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 60 }), fc.integer({ min: 2, max: 5 }), (seed, count, domains) => {
      const random = splitmix64(seed);
      const rows = rowsOf(random, count, { arms: 3, domains, quality: () => 0.5 });
      const { each, long, by } = summed(rows, 3, domains);
      const extended = withDomains(each, by, domains, hierarchy);
      extended.arms.forEach(({ a, b }, arm) => {
        Array.from(a).forEach((value, i) => expect(value).toBeCloseTo(long[arm]!.a[i]!, 9));
        Array.from(b).forEach((value, i) => expect(value).toBeCloseTo(long[arm]!.b[i]!, 9));
      });
      const { arms, unknown, long: whole } = solved(each, by, domains);
      const x = [1, normal(random), normal(random)];
      [...arms, unknown].forEach(({ posterior, shifts }, i) => {
        const full = whole.arms[i] ?? whole.unknown;
        const nowhere = predict(full, [...x, ...shifts.map(() => 0)]);
        expect(predict(posterior, x).mean).toBeCloseTo(nowhere.mean, 7);
        expect(predict(posterior, x).deviation).toBeCloseTo(nowhere.deviation, 7);
        shifts.forEach((shift, d) => {
          const here = predict(full, [...x, ...shifts.map((_, other) => (other === d ? 1 : 0))]);
          expect(shifted(predict(posterior, x), shift, x).mean).toBeCloseTo(here.mean, 7);
          expect(shifted(predict(posterior, x), shift, x).deviation).toBeCloseTo(here.deviation, 7);
        });
      });
    }),
    { numRuns: 40 },
  );
});

it("learns which arm a domain prefers, and believes nothing of domains that are alike", () => {
  const better = (arm: number, domain: number): number => (arm === domain ? 0.8 : 0.4);
  const differing = summed(rowsOf(splitmix64(1), 400, { arms: 2, domains: 2, quality: better }), 2, 2);
  const { arms } = solved(differing.each, differing.by, 2);
  const at = (arm: number, domain: number): number => {
    const { posterior, shifts } = arms[arm]!;
    return shifted(predict(posterior, [1, 0, 0]), shifts[domain]!, [1, 0, 0]).mean;
  };
  for (const arm of [0, 1])
    for (const domain of [0, 1]) expect(Math.abs(at(arm, domain) - better(arm, domain))).toBeLessThan(0.08);

  const alike = summed(rowsOf(splitmix64(2), 400, { arms: 2, domains: 4, quality: () => 0.6 }), 2, 4);
  const none = solved(alike.each, alike.by, 4);
  expect(none.variances.own[2]).toBeLessThan(0.002);
  for (const { shifts } of none.arms) for (const { mean } of shifts) expect(Math.abs(mean)).toBeLessThan(0.03);
});

it("never has a deviation that is no number, also where comparisons made the weights surer", () => {
  const posterior = priorPosterior({ mean: Float64Array.of(0.5, 0, 0), variance: 0.01, noise: 0.1 });
  const shift = { mean: 0.1, variance: 0.02, covariance: Float64Array.of(-0.5, 0, 0) };
  expect(shifted(predict(posterior, [1, 0, 0]), shift, [1, 0, 0])).toEqual({ mean: 0.6, deviation: 0 });
});
