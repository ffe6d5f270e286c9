// All arms with what they share, and with what each sharing domain changes of them where there are
// sums by domain. Pure. What can't be solved is left out, and said.
import type { Posterior } from "../../algorithms/routing/bandit.ts";
import { separateDomains, withDomains } from "../../algorithms/routing/domain-shifts.ts";
import { solveHierarchy, type ArmSums, type Hierarchy, type Variances } from "../../algorithms/routing/hierarchy.ts";
import { estimateVariances } from "../../algorithms/routing/variances.ts";
import type { DomainBeliefs } from "../../state/policies/router.ts";
import type { ArmStatistics, DomainStatistics } from "../learnt.ts";

export interface Together {
  /** In the order of the arms. */
  arms: Posterior[];
  unknown: Posterior;
  variances: Variances;
  domains?: ReadonlyMap<string, DomainBeliefs>;
}

/** null, and a problem more, where it can't be solved. */
export function solveTogether(
  used: readonly ArmStatistics[],
  domains: readonly DomainStatistics[],
  hierarchy: Hierarchy,
  problems: string[],
): Together | null {
  const sums = used.map(({ a, b, weight, rewardSum, squares = rewardSum }) => ({ a, b, weight, squares }));
  const attempt = <T>(what: string, otherwise: string, run: () => T): T | null => {
    try {
      return run();
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      problems.push(`${what}: ${error.message}; ${otherwise}`);
      return null;
    }
  };
  return (
    attempt("what domains change", "they all count as one", () => byDomain(used, sums, domains, hierarchy)) ??
    attempt("what the arms share", "each is solved alone", () => {
      const variances = estimateVariances(sums, hierarchy);
      return { ...solveHierarchy(sums, { ...hierarchy, variances }), variances };
    })
  );
}

/** null where there are not two domains to compare. */
function byDomain(
  used: readonly ArmStatistics[],
  sums: readonly ArmSums[],
  domains: readonly DomainStatistics[],
  hierarchy: Hierarchy,
): Together | null {
  const current = domains.filter(({ arm, model }) => used.some((one) => one.arm === arm && one.model === model));
  const names = [...new Set(current.map(({ domain }) => domain))].toSorted();
  if (names.length < 2) return null;
  const indexes = used.map(({ arm }) =>
    names.map((name) => current.find((one) => one.domain === name && one.arm === arm)),
  );
  const extended = withDomains(sums, indexes, names.length, hierarchy);
  const variances = estimateVariances(extended.arms, extended.hierarchy);
  const solved = solveHierarchy(extended.arms, { ...extended.hierarchy, variances });
  const { arms, unknown } = separateDomains(solved, hierarchy.mean.length);
  return {
    arms: arms.map(({ posterior }) => posterior),
    unknown: unknown.posterior,
    variances,
    domains: new Map(
      names.map((name, d) => [
        name,
        { arms: new Map(used.map(({ arm }, i) => [arm, arms[i]!.shifts[d]!])), prior: unknown.shifts[d]! },
      ]),
    ),
  };
}

/** noise_variance; shared_variance.<group> and own_variance.<group>, groups by their number. */
export const varianceMetrics = ({ shared, own, noise }: Variances): Record<string, number> => ({
  noise_variance: noise,
  ...Object.fromEntries(shared.map((value, group) => [`shared_variance.${group}`, value])),
  ...Object.fromEntries(own.map((value, group) => [`own_variance.${group}`, value])),
});
