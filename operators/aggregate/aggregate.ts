// The first verb of learn: feedback to rewards, rewards and decisions to the sufficient statistics
// of every arm and hour, all inside ClickHouse. Idempotent: what changed is found by offsets,
// recomputed whole from the base tables, and only then is the position moved; a pass that breaks
// off anywhere, or runs twice, leaves the same numbers. Rejects as the ClickHouse port does.
import { positionName } from "../../algorithms/origin.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { ArmStatistics } from "../learnt.ts";
import {
  insertArmHours,
  insertRewards,
  selectDirty,
  selectRanges,
  selectStatistics,
  type Table,
} from "./statements.ts";

export interface AggregateDependencies {
  clickhouse: Pick<ClickHouse, "query" | "command" | "insert">;
  /** Full names of the topics that the tables come from. */
  topics: { feedback: string; decisions: string; responses?: string };
  featureVersion: number;
  /** Length of a context of that version; decisions with another are left out. */
  dimension: number;
  /** Rows of each table and partition taken in one pass. */
  maxRows?: number;
}

export interface Progress {
  /** Rows of feedback, decisions and responses that were new. */
  rows: number;
  /** Buckets of arm_hours that were recomputed. */
  buckets: number;
  /** More was there than one pass takes. */
  more: boolean;
}

export interface Aggregate {
  /** Takes in what was recorded since the last pass. */
  advance(): Promise<Progress>;
  /** The arms as they are known now; halfLifeHours > 0. */
  statistics(halfLifeHours: number): Promise<ArmStatistics[]>;
}

interface Range {
  /** Cluster and topic that the offsets belong to. */
  origin: string;
  partition: number;
  next: number;
  end: number;
}
interface Bucket {
  arm: string;
  model: string;
  /** Seconds since the epoch. */
  hour: number;
}

const hourSeconds = 3_600;
/** Hours recomputed in one statement: bounds what a rebuild holds in memory. */
const spanHours = 24;

export function createAggregate({
  clickhouse,
  topics,
  featureVersion,
  dimension,
  maxRows = 200_000,
}: AggregateDependencies): Aggregate {
  // Another layout of the context starts over: what the one before skipped is new to it.
  const reader = `router@${featureVersion}`;

  // Rows of a table whose topic is not named are looked at only with their decision or feedback.
  const tables = (["feedback", "decisions", "responses"] as const).filter((table) => topics[table] !== undefined);
  const topicParameters = Object.fromEntries(tables.map((table) => [`${table}Topic`, topics[table]]));

  /** Of each table of one origin at a time; more: of another there is something new, too. */
  const ranges = async (): Promise<Record<Table, Range[]> & { more: boolean }> => {
    const rows = await clickhouse.query<Range & { table: Table }>(selectRanges(tables), { ...topicParameters, reader });
    const of = (name: Table): Range[] => {
      const own = rows.filter(({ table }) => table === name);
      return own
        .filter(({ origin }) => origin === own[0]?.origin)
        .map(({ origin, partition, next, end }) => ({ origin, partition, next, end: Math.min(end, next + maxRows) }));
    };
    const found = { feedback: of("feedback"), decisions: of("decisions"), responses: of("responses") };
    const taken = found.feedback.length + found.decisions.length + found.responses.length;
    return { ...found, more: taken < rows.length };
  };

  const recompute = (buckets: readonly Bucket[]): Promise<void> => {
    const hours = buckets.map(({ hour }) => hour);
    return clickhouse.command(insertArmHours, {
      featureVersion,
      dimension,
      arms: buckets.map(({ arm }) => arm),
      models: buckets.map(({ model }) => model),
      hours,
      firstHour: Math.min(...hours),
      lastHour: Math.max(...hours),
    });
  };

  return {
    async advance() {
      // Read before anything is computed: what comes meanwhile may be in the numbers already and is
      // new again next time, which does no harm.
      const { feedback, decisions, responses, more } = await ranges();
      const found = [...feedback, ...decisions, ...responses];
      const rows = found.reduce((sum, { next, end }) => sum + end - next, 0);
      if (rows === 0) return { rows, buckets: 0, more: false };

      const parameters = { ...bounds("feedback", topics.feedback, feedback) };
      if (feedback.length > 0) await clickhouse.command(insertRewards, parameters);
      const dirty = await clickhouse.query<Bucket>(selectDirty, {
        ...parameters,
        ...bounds("decisions", topics.decisions, decisions),
        ...bounds("responses", topics.responses ?? "", responses),
        featureVersion,
      });
      for (const span of spans(dirty)) await recompute(span);
      const positions = [
        ...feedback.map((range) => ({ topic: topics.feedback, ...range })),
        ...decisions.map((range) => ({ topic: topics.decisions, ...range })),
        ...responses.map((range) => ({ topic: topics.responses ?? "", ...range })),
      ].map(({ topic, origin, partition, end }) => ({
        reader,
        topic: positionName(topic, origin),
        kafka_partition: partition,
        next_offset: end,
      }));
      await clickhouse.insert("learn_positions", positions);
      return {
        rows,
        buckets: dirty.length,
        more: more || found.some(({ next, end }) => end - next === maxRows),
      };
    },

    async statistics(halfLifeHours) {
      const rows = await clickhouse.query<StatisticsRow>(selectStatistics, { featureVersion, halfLifeHours });
      return rows.map((row) => ({
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

interface StatisticsRow {
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

/**
 * Query parameters for inRange of statements.ts; partitions that are not in the maps have the empty
 * range [0, 0).
 */
function bounds(table: Table, topic: string, ranges: readonly Range[]): Record<string, unknown> {
  return {
    [`${table}Topic`]: topic,
    [`${table}Origin`]: ranges[0]?.origin ?? "",
    [`${table}From`]: new Map(ranges.map(({ partition, next }) => [partition, next])),
    [`${table}To`]: new Map(ranges.map(({ partition, end }) => [partition, end])),
  };
}

/** Buckets in the order of their hours, cut so that each piece spans at most spanHours. */
function spans(buckets: readonly Bucket[]): Bucket[][] {
  const pieces: Bucket[][] = [];
  for (const bucket of [...buckets].sort((one, other) => one.hour - other.hour)) {
    const piece = pieces.at(-1);
    const first = piece?.[0];
    if (piece !== undefined && first !== undefined && bucket.hour - first.hour < spanHours * hourSeconds)
      piece.push(bucket);
    else pieces.push([bucket]);
  }
  return pieces;
}
