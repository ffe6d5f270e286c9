// Second verb of learn: posteriors of all arms from their sums. Pure. An arm that can't be solved
// is left out and named; plan gives it the prior.
import { constantPrior, priorPosterior, solvePosterior } from "../../algorithms/routing/bandit.ts";
import type { Hierarchy } from "../../algorithms/routing/hierarchy.ts";
import type { ArmPosterior } from "../../state/policies/router.ts";
import type { ArmStatistics, DomainStatistics, Pair, Solved } from "../learnt.ts";
import { addPairs, type PairsAdded } from "./pairs.ts";
import { createTenantSolver } from "./tenants.ts";
import { solveTogether, varianceMetrics } from "./together.ts";

export interface SolveConfig {
  dimension: number;
  priorMean: number;
  priorVariance: number;
  noiseVariance: number;
  hierarchy?: Hierarchy;
}

export interface SolveDependencies {
  /** Each tenant's rewards for that tenant alone, of so many tenants; absent: all together. */
  byTenant?: { mostTenants: number } | undefined;
  aggregate: {
    statistics(halfLifeHours: number): Promise<ArmStatistics[]>;
    domains?(halfLifeHours: number): Promise<DomainStatistics[]>;
    pairs?(): Promise<Pair[]>;
  };
  solving: SolveConfig;
  halfLifeHours: number;
}

/** The newest statistics solved. buckets, pairs: how many are new. */
export function createSolve({ aggregate, solving, halfLifeHours, byTenant }: SolveDependencies) {
  let solved: Solved | undefined;
  const solveTenants =
    byTenant && createTenantSolver((own, pairs) => solve(own, solving, { pairs, halfLifeHours }), byTenant);
  return async function solveNewest({ buckets, pairs }: NewThings): Promise<{ solved: Solved }> {
    if (buckets > 0 || pairs === true) solved = undefined;
    if (solved !== undefined) return { solved };
    const statistics = await aggregate.statistics(halfLifeHours);
    const domains = (await aggregate.domains?.(halfLifeHours)) ?? [];
    const compared = (await aggregate.pairs?.()) ?? [];
    solved =
      solveTenants === undefined
        ? solve(statistics, solving, { pairs: compared, halfLifeHours, domains })
        : await solveTenants(statistics, compared);
    return { solved };
  };
}

interface NewThings {
  buckets: number;
  pairs?: true;
}

interface Beside {
  pairs: readonly Pair[];
  halfLifeHours: number;
  /** Sums by sharing domain; absent: all domains count as one. */
  domains?: readonly DomainStatistics[];
}

export function solve(
  statistics: readonly ArmStatistics[],
  config: SolveConfig,
  { pairs, halfLifeHours, domains = [] }: Beside = { pairs: [], halfLifeHours: 1 },
): Solved {
  const prior = constantPrior(config.dimension, config.priorMean, config.priorVariance, config.noiseVariance);
  const arms = new Map<string, ArmPosterior>();
  const problems: string[] = [];
  const used: ArmStatistics[] = [];
  for (const known of currentModels(statistics)) {
    try {
      if (!isFiniteCount(known.weight)) throw new RangeError(`its weight is ${known.weight}`);
      // Also where arms share a prior: one that can't be solved alone would spoil all.
      arms.set(known.arm, { model: known.model, count: known.weight, ...solvePosterior(known, prior) });
      used.push(known);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      problems.push(`${known.arm}: ${error.message}`);
    }
  }
  const together = config.hierarchy === undefined ? null : solveTogether(used, domains, config.hierarchy, problems);
  together?.arms.forEach((posterior, i) => {
    const { arm, model, weight } = used[i]!;
    arms.set(arm, { model, count: weight, ...posterior });
  });
  const compared = solvePairs(arms, pairs, problems, {
    unknown: together?.unknown ?? priorPosterior(prior),
    halfLifeHours,
    newestHour: used.length === 0 ? null : Math.max(...used.map(({ lastHour }) => lastHour)),
  });
  const times = [...used.map(({ newestAt }) => newestAt), ...(compared.newestAt === null ? [] : [compared.newestAt])];
  return {
    arms: compared.arms,
    ...(together === null ? {} : { prior: together.unknown }),
    ...(together?.domains === undefined ? {} : { domains: together.domains }),
    rewards: used.reduce((sum, { count }) => sum + count, 0) + compared.used,
    trainedThrough: times.length === 0 ? null : Math.max(...times),
    metrics: {
      ...metricsOf(used),
      ...(compared.used === 0 ? {} : { comparisons: compared.used, preference_slope: compared.slope ?? 1 }),
      ...(together === null ? {} : varianceMetrics(together.variances)),
      ...(together?.domains === undefined ? {} : { domains: together.domains.size }),
    },
    problems,
  };
}

/** The arms with the comparisons; without them, and a problem more, where they can't be added. */
function solvePairs(
  arms: ReadonlyMap<string, ArmPosterior>,
  pairs: readonly Pair[],
  problems: string[],
  options: Parameters<typeof addPairs>[2],
): PairsAdded {
  try {
    return addPairs(arms, pairs, options);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    problems.push(`comparisons: ${error.message}; the rewards alone count`);
    return { arms: new Map(arms), used: 0, newestAt: null, slope: null };
  }
}

/** The model of each arm that was rewarded last, by the arm's name. */
function currentModels(statistics: readonly ArmStatistics[]): ArmStatistics[] {
  const newest = new Map<string, ArmStatistics>();
  for (const known of statistics) {
    const other = newest.get(known.arm);
    const later =
      other === undefined ||
      known.lastHour > other.lastHour ||
      (known.lastHour === other.lastHour && known.newestAt > other.newestAt);
    if (later) newest.set(known.arm, known);
  }
  return [...newest.values()].sort((one, other) => (one.arm < other.arm ? -1 : 1));
}

const isFiniteCount = (value: number): boolean => Number.isFinite(value) && value >= 0;

/**
 * rewards, arms, mean_reward, of each arm too; gap_to_best_arm: what the arm with the best mean
 * earned more than all, a bound on gains by a constant arm.
 */
function metricsOf(used: readonly ArmStatistics[]): Record<string, number> {
  const weight = used.reduce((sum, known) => sum + known.weight, 0);
  const mean = weight > 0 ? used.reduce((sum, known) => sum + known.rewardSum, 0) / weight : 0;
  const means = used.map(({ arm, rewardSum, weight: own }) => [arm, own > 0 ? rewardSum / own : 0] as const);
  return {
    rewards: used.reduce((sum, { count }) => sum + count, 0),
    arms: used.length,
    mean_reward: mean,
    gap_to_best_arm: Math.max(mean, ...means.map(([, value]) => value)) - mean,
    ...Object.fromEntries(used.map(({ arm, count }) => [`rewards.${arm}`, count])),
    ...Object.fromEntries(means.map(([arm, value]) => [`mean_reward.${arm}`, value])),
  };
}
