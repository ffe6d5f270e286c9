// Quality: the mean reward of the ratings that were given in a time, with its interval.
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import { at, conditionsOf, during, parametersOf } from "./answers.ts";
import type { OverviewFilter } from "./filters.ts";
import type { Learnt, Overview, Quality } from "./types/overview.ts";

type Reader = Pick<ClickHouse, "query">;

export type ArmQuality = Quality & { arm: string };
interface Sums {
  rated: number;
  total: number;
  squares: number;
}

const z = 1.96;
const mostRows = 20_000;

const sumColumns = "count() AS rated, sum(reward) AS total, sum(reward * reward) AS squares";

export interface Ratings {
  now: Quality;
  before: Quality;
  arms: ArmQuality[];
  rewards: Overview["rewards"];
}

/** Ratings in the filter's period and in the one before. One query: merging rows dominates. */
export async function readRatings(clickhouse: Reader, filter: OverviewFilter, stepMs: number): Promise<Ratings> {
  const { from, until } = filter;
  const rows = await clickhouse.query<Sums & { arm: string; at: number; isNow: number }>(
    `SELECT arm, newest_at >= ${at("middle")} AS isNow,
       if(isNow, toUnixTimestamp(toStartOfInterval(newest_at, toIntervalSecond({step:UInt32}))) * 1000, 0) AS at, ${sumColumns}
     FROM rewards FINAL WHERE weight > 0 AND ${during("newest_at")}${conditionsOf(filter)}
     GROUP BY arm, isNow, at ORDER BY at, arm LIMIT ${mostRows}`,
    { ...parametersOf(filter), from: Math.max(0, 2 * from - until), middle: from, step: stepMs / 1_000 },
  );
  const [now, before] = [rows.filter(({ isNow }) => isNow === 1), rows.filter(({ isNow }) => isNow === 0)];
  const names = [...new Set(now.map(({ arm }) => arm))].toSorted();
  return {
    now: qualityOf(sumOf(now)),
    before: qualityOf(sumOf(before)),
    arms: names.map((arm) => ({ arm, ...qualityOf(sumOf(now.filter((row) => row.arm === arm))) })),
    rewards: now.map((row) => ({ at: row.at, arm: row.arm, rated: row.rated, mean: row.total / row.rated })),
  };
}

const sumOf = (all: readonly Sums[]): Sums =>
  all.reduce(
    (one, other) => ({
      rated: one.rated + other.rated,
      total: one.total + other.total,
      squares: one.squares + other.squares,
    }),
    { rated: 0, total: 0, squares: 0 },
  );

/** Quality of the answers chosen by each of these router versions, whenever they were rated. */
export async function readVersions(
  clickhouse: Reader,
  versions: readonly number[],
): Promise<ReadonlyMap<number, Quality>> {
  if (versions.length === 0) return new Map();
  const rows = await clickhouse.query<Sums & { version: number }>(
    `SELECT policy_version AS version, ${sumColumns} FROM rewards FINAL
     WHERE weight > 0 AND policy_version IN {versions:Array(UInt64)} GROUP BY version`,
    { versions },
  );
  return new Map(rows.map((row) => [row.version, qualityOf(row)]));
}

/** What was learnt, with the quality of each version of the router and of the one before it. */
export async function withQuality(
  clickhouse: Reader,
  learnt: readonly Omit<Learnt, "quality" | "before">[],
): Promise<Learnt[]> {
  const own = learnt.filter(({ name }) => name === "router").map(({ version }) => version);
  const versions = new Set(own.flatMap((version) => [version, version - 1]));
  // Answers of the response cache have version 0, too.
  versions.delete(0);
  const found = await readVersions(clickhouse, [...versions]);
  return learnt.map((one) => ({
    ...one,
    quality: one.name === "router" ? (found.get(one.version) ?? null) : null,
    before: one.name === "router" ? (found.get(one.version - 1) ?? null) : null,
  }));
}

/** Half-width, 95 %; Wilson's where all ratings are equal. */
function qualityOf({ rated, total, squares }: Sums): Quality {
  if (rated === 0) return { rated, mean: null, reach: null };
  const mean = total / rated;
  const variance = Math.max(0, squares / rated - mean * mean);
  return { rated, mean, reach: z * Math.sqrt(variance / rated + (z * z) / (4 * rated * rated)) };
}
