// First verb of learn: feedback to rewards, rewards and decisions to sums by arm and hour, in
// ClickHouse. Idempotent: what changed is recomputed whole, then the position moves. Rejects as the
// port does.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { ArmStatistics, DomainStatistics, Pair } from "../learnt.ts";
import { readPairs, selectNewPairs } from "./pairs.ts";
import { createExcess, type FeedbackLimits } from "./excess.ts";
import { boundsOf, createRanges, positionsOf, type Range } from "./ranges.ts";
import { spans, type Bucket } from "./spans.ts";
import { answeredLate, insertRewards, rewardedBefore, selectTakenBack, withFeedback } from "./statements.ts";
import { insertDomains, selectDomains, sumsOf } from "./sums.ts";
import { selectNamed, selectWithdrawnHours, withdrawnBetween } from "./withdrawals.ts";

export interface AggregateDependencies {
  clickhouse: Pick<ClickHouse, "query" | "command" | "insert">;
  topics: { feedback: string; decisions: string; responses?: string; withdrawals?: string };
  limits?: FeedbackLimits;
  /** Each tenant alone, of so many tenants at most; absent: all together. */
  byTenant?: { mostTenants: number } | undefined;
  /** Sums by domain, too, read of so many domains; 0, and by tenant: none. */
  mostDomains?: number;
  featureVersion: number;
  /** Length of a context of that version; decisions with another are left out. */
  dimension: number;
  maxRows?: number;
}

export interface Progress {
  /** Rows of feedback, withdrawals, decisions and responses that were new. */
  rows: number;
  buckets: number;
  /** Something about comparisons may be new; absent: nothing. */
  pairs?: true;
  /** More was there than one pass takes. */
  more: boolean;
}

export interface Aggregate {
  advance(): Promise<Progress>;
  statistics(halfLifeHours: number): Promise<ArmStatistics[]>;
  /** The same by domain, of the domains with the most rewards of late. */
  domains(halfLifeHours: number): Promise<DomainStatistics[]>;
  pairs(): Promise<Pair[]>;
}

export function createAggregate({
  clickhouse,
  topics,
  limits,
  byTenant,
  mostDomains = 0,
  featureVersion,
  dimension,
  maxRows = 200_000,
}: AggregateDependencies): Aggregate {
  // Another layout of the context starts over: what the one before skipped is new to it. So do sums
  // by tenant.
  const reader = `router@${featureVersion}${byTenant === undefined ? "" : "/tenant"}`;
  const sums = sumsOf(byTenant !== undefined);
  const hasDomains = mostDomains > 0 && byTenant === undefined;

  const ranges = createRanges({ clickhouse, topics, reader, maxRows });

  /** If there is none, learning continues without this statement. */
  const hasLate = async (ranges: readonly Range[], parameters: Record<string, unknown>): Promise<boolean> =>
    ranges.length > 0 &&
    (await clickhouse.query(`${answeredLate} LIMIT 1 SETTINGS distributed_product_mode = 'local'`, parameters)).length >
      0;

  const excess = createExcess({ clickhouse, reader, limits });

  const recompute = async (buckets: readonly Bucket[]): Promise<void> => {
    const hours = buckets.map(({ hour }) => hour);
    const parameters = {
      featureVersion,
      dimension,
      arms: buckets.map(({ arm }) => arm),
      models: buckets.map(({ model }) => model),
      tenants: buckets.map(({ tenant }) => tenant),
      hours,
      firstHour: Math.min(...hours),
      lastHour: Math.max(...hours),
    };
    await clickhouse.command(sums.insert, parameters);
    if (hasDomains) await clickhouse.command(insertDomains, parameters);
  };

  return {
    async advance() {
      // Read before anything is computed: what comes meanwhile may be in the numbers already and is
      // new again next time, which does no harm.
      const { found, more } = await ranges();
      const all = Object.values(found).flat();
      const rows = all.reduce((sum, { next, end }) => sum + end - next, 0);
      if (rows === 0) return { rows, buckets: 0, more: false };

      const parameters: Record<string, unknown> = { featureVersion, ...boundsOf(found, topics) };
      const named =
        found.withdrawals.length === 0
          ? []
          : (await clickhouse.query<{ id: string }>(selectNamed, parameters)).map(({ id }) => id);
      const above = found.feedback.length + named.length === 0 ? null : await excess.settle(parameters, named);

      const [pairs] = await clickhouse.query<{ count: number }>(selectNewPairs, parameters);
      const hasPairs = named.length > 0 || above !== null || (pairs?.count ?? 0) > 0;

      let buckets = 0;
      const take = async (
        changed: string | null,
        others: string | null,
        more: Record<string, unknown>,
      ): Promise<void> => {
        const touched = [changed, others].filter((one) => one !== null).join(" UNION DISTINCT ");
        if (changed !== null) await clickhouse.command(insertRewards(changed), { ...parameters, ...more });
        const dirty = await clickhouse.query<Bucket>(sums.selectDirty(touched), { ...parameters, ...more });
        for (const span of spans(dirty)) await recompute(span);
        buckets += dirty.length;
      };
      // All feedback of a source may be much: by the day.
      if (named.length > 0) {
        const hours = await clickhouse.query<{ hour: number }>(selectWithdrawnHours, { named });
        for (const span of spans(hours))
          await take(withdrawnBetween, null, { named, firstHour: span[0]!.hour, lastHour: span.at(-1)!.hour });
      }
      const changed = [
        found.feedback.length === 0 ? [] : [withFeedback],
        (await hasLate(found.responses, parameters)) ? [answeredLate] : [],
        above?.changed ?? [],
      ].flat();
      await take(
        changed.length === 0 ? null : changed.join(" UNION DISTINCT "),
        rewardedBefore,
        above?.parameters ?? {},
      );

      await clickhouse.insert("learn_positions", [...positionsOf(found, topics, reader), ...(above?.positions ?? [])]);
      return {
        rows,
        buckets,
        ...(hasPairs && { pairs: true as const }),
        more: more || all.some(({ next, end }) => end - next === maxRows),
      };
    },

    pairs: () => readPairs(clickhouse, { featureVersion, dimension }, byTenant),

    async domains(halfLifeHours) {
      if (!hasDomains) return [];
      const rows = await clickhouse.query<DomainRow>(selectDomains, { featureVersion, halfLifeHours, mostDomains });
      return rows.map(({ domain, arm, model, sum_x: x, sum_weight: weight, sum_reward: rewardSum }) => ({
        ...{ domain, arm, model, x, weight, rewardSum },
      }));
    },

    async statistics(halfLifeHours) {
      const rows = await clickhouse.query<StatisticsRow>(sums.selectStatistics, {
        ...{ featureVersion, halfLifeHours, ...byTenant },
      });
      return rows.map((row) => ({
        ...(row.tenant === undefined ? {} : { tenant: row.tenant }),
        arm: row.arm,
        model: row.model,
        a: row.sum_a,
        b: row.sum_b,
        weight: row.sum_weight,
        rewardSum: row.sum_reward,
        squares: row.sum_squares,
        count: row.count,
        lastHour: row.last_hour,
        newestAt: row.newest,
      }));
    },
  };
}

/** Whether a reward was reduced to nothing after that time, ms since the epoch. */
export async function rewardsTakenBack(clickhouse: Pick<ClickHouse, "query">, since: number): Promise<boolean> {
  const found = await clickhouse.query(selectTakenBack, { since: Math.max(0, since) * 1_000 });
  return found.length > 0;
}

interface DomainRow {
  domain: string;
  arm: string;
  model: string;
  sum_x: number[];
  sum_weight: number;
  sum_reward: number;
}

interface StatisticsRow {
  tenant?: string;
  arm: string;
  model: string;
  sum_a: number[];
  sum_b: number[];
  sum_weight: number;
  sum_reward: number;
  sum_squares: number;
  count: number;
  last_hour: number;
  newest: number;
}
