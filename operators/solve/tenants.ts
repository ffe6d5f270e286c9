// Posteriors by tenant, from its own sums and comparisons; unchanged ones are not solved again.
import { setImmediate } from "node:timers/promises";
import type { Beliefs } from "../../state/policies/router.ts";
import type { ArmStatistics, Pair, Solved } from "../learnt.ts";

interface Own {
  statistics: ArmStatistics[];
  /** Newest first. */
  pairs: Pair[];
}

/** A posterior is some 20 kB in a version, and a version fits into a record of 16 MiB. */
const mostPosteriors = 600;

export interface TenantLimits {
  mostTenants: number;
}

/** Statistics and comparisons name their tenants; one that names none is left out. */
export function createTenantSolver(
  solveOne: (statistics: readonly ArmStatistics[], pairs: readonly Pair[]) => Solved,
  { mostTenants }: TenantLimits,
): (statistics: readonly ArmStatistics[], pairs: readonly Pair[]) => Promise<Solved> {
  let before = new Map<string, { from: string; solved: Solved }>();
  return async function solveTenants(statistics, pairs) {
    const now: typeof before = new Map();
    for (const [tenant, own] of ranked(statistics, pairs).slice(0, mostTenants)) {
      const from = JSON.stringify(own);
      const known = before.get(tenant);
      if (known?.from === from) now.set(tenant, known);
      else {
        now.set(tenant, { from, solved: solveOne(own.statistics, own.pairs) });
        await setImmediate(); // A heartbeat may be due.
      }
    }
    before = now;
    return together(new Map([...now].map(([tenant, { solved }]) => [tenant, solved])));
  };
}

/** Those with the most rewards first; then by name. */
function ranked(statistics: readonly ArmStatistics[], pairs: readonly Pair[]): [tenant: string, own: Own][] {
  const tenants = new Map<string, Own>();
  const of = (tenant: string): Own => {
    const own = tenants.get(tenant) ?? { statistics: [], pairs: [] };
    tenants.set(tenant, own);
    return own;
  };
  for (const one of statistics) if (one.tenant !== undefined) of(one.tenant).statistics.push(one);
  for (const pair of pairs) if (pair.tenant !== undefined) of(pair.tenant).pairs.push(pair);
  const weight = ({ statistics: sums, pairs: compared }: Own): number =>
    sums.reduce((sum, one) => sum + one.weight, compared.length);
  return [...tenants].toSorted(
    ([name, one], [otherName, other]) => weight(other) - weight(one) || (name < otherName ? -1 : 1),
  );
}

function together(tenants: ReadonlyMap<string, Solved>): Solved {
  const beliefs = new Map<string, Beliefs>();
  const all = [...tenants.values()];
  let posteriors = 0;
  for (const [tenant, { arms, prior }] of tenants) {
    posteriors += arms.size + (prior === undefined ? 0 : 1);
    if (posteriors > mostPosteriors) break;
    if (arms.size > 0) beliefs.set(tenant, { arms, ...(prior === undefined ? {} : { prior }) });
  }
  const times = all.flatMap(({ trainedThrough }) => (trainedThrough === null ? [] : [trainedThrough]));
  return {
    arms: new Map(),
    tenants: beliefs,
    rewards: all.reduce((sum, { rewards }) => sum + rewards, 0),
    trainedThrough: times.length === 0 ? null : Math.max(...times),
    metrics: { ...sumsOf(all.map(({ metrics }) => metrics)), tenants: beliefs.size },
    problems: [...tenants].flatMap(([tenant, { problems }]) => problems.map((problem) => `${tenant}, ${problem}`)),
  };
}

/** For people: rewards in all, and the means that they come to. */
function sumsOf(metrics: readonly Record<string, number>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  const add = (name: string, value: number): void => {
    sums[name] = (sums[name] ?? 0) + value;
  };
  for (const one of metrics)
    for (const [name, value] of Object.entries(one)) {
      if (name === "rewards" || name === "comparisons" || name.startsWith("rewards.")) add(name, value);
      if (name === "mean_reward") add(name, value * (one.rewards ?? 0));
      if (name.startsWith("mean_reward.")) add(name, value * (one[name.replace("mean_reward", "rewards")] ?? 0));
    }
  for (const name of Object.keys(sums))
    if (name.startsWith("mean_reward")) sums[name]! /= Math.max(1, sums[name.replace("mean_reward", "rewards")] ?? 0);
  return { ...sums, arms: Object.keys(sums).filter((name) => name.startsWith("rewards.")).length };
}
