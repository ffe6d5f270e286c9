// The overview: figures of a time beside those of as long a time before, by arm and in steps; what
// failed, what was learnt, what was given up.
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import { conditionsOf, dayMs, during, figuresIn, hourMs, levels, parametersOf, timesOf } from "./answers.ts";
import { RETRIED } from "./dead-letters.ts";
import type { OverviewFilter } from "./filters.ts";
import type { ArmFigures, ArmStep, Figures, Learnt, Overview } from "./types/overview.ts";
import { readRatings, withQuality, type ArmQuality } from "./quality.ts";

type Reader = Pick<ClickHouse, "query">;

const minuteMs = 60_000;
const steps = 60;
const mostErrors = 50;
const mostLearnt = 20;
const mostDays = 400;

export async function readOverview(clickhouse: Reader, { from: wanted, ...filter }: OverviewFilter): Promise<Overview> {
  const { until } = filter;
  const from = Math.max(Math.min(wanted, until - minuteMs), until - mostDays * dayMs, 0);
  const stepMs = niceStep(Math.max((until - from) / steps, leastStep(until - from)));
  const [now, before] = [
    { ...filter, from },
    { ...filter, from: Math.max(0, 2 * from - until), until: from },
  ];
  const parameters = { ...parametersOf(filter), ...timesOf(now, stepMs) };
  const earlier = { ...parametersOf(filter), ...timesOf(before, stepMs) };
  const sql = figuresIn(filter);
  const [rows, rowsBefore, ratings, learnt, letters] = await Promise.all([
    clickhouse.query<Row>(sql, parameters),
    clickhouse.query<Row>(sql, earlier),
    readRatings(clickhouse, now, stepMs),
    readLearnt(clickhouse, now),
    clickhouse.query<{ letters: number }>(
      `SELECT count() AS letters FROM dead_letters WHERE code != '${RETRIED}' AND ${during("created_at")}${conditionsOf({ tenant: filter.tenant })}`,
      parameters,
    ),
  ]);
  const at = (level: number, of = rows): Row[] => of.filter((row) => row.level === level);
  const total = (of: Row[]): Figures => at(levels.all, of)[0] ?? nothing;
  const none: ArmQuality = { arm: "", rated: 0, mean: null, reach: null };
  return {
    ...{
      from,
      until,
      stepMs,
      learnt,
      rewards: ratings.rewards,
      steps: at(levels.step),
      deadLetters: letters[0]?.letters ?? 0,
    },
    now: { ...total(rows), quality: ratings.now },
    before: { ...total(rowsBefore), quality: ratings.before },
    arms: at(levels.arm).map((row) => ({
      ...row,
      quality: ratings.arms.find(({ arm }) => arm === row.arm) ?? none,
    })),
    errors: at(levels.code)
      .filter(({ failed }) => failed > 0)
      .map(({ code, failed: answers }) => ({ code, answers }))
      .sort((one, other) => other.answers - one.answers)
      .slice(0, mostErrors),
  };
}

type Row = ArmStep & ArmFigures & { level: number; code: string };

const nothing: Figures = {
  ...{ answers: 0, failed: 0, cacheHits: 0, cost: 0, savedCost: 0, tokens: 0 },
  ...{ p50Ms: null, p95Ms: null, p99Ms: null, firstTokenP50Ms: null, firstTokenP95Ms: null },
};

async function readLearnt(clickhouse: Reader, { from, until }: OverviewFilter): Promise<Learnt[]> {
  const rows = await clickhouse.query<Omit<Learnt, "quality" | "before">>(
    `SELECT name, version, toUnixTimestamp64Milli(created_at) AS createdAt, revert_of AS revertOf FROM policies FINAL
     WHERE ${during("created_at")}
     ORDER BY createdAt DESC, name LIMIT ${mostLearnt}`,
    { from, until },
  );
  return withQuality(clickhouse, rows);
}

const nice = [1, 2, 5, 10, 15, 30, 60, 120, 240, 720, 1_440, 2_880, 10_080].map((minutes) => minutes * minuteMs);

/** Longer periods read whole hours, or whole days. */
const leastStep = (spanMs: number): number => (spanMs >= 14 * dayMs ? dayMs : spanMs >= dayMs ? hourMs : 0);

/** The least usual step that is no shorter. */
const niceStep = (ms: number): number => nice.find((one) => one >= ms) ?? nice.at(-1)!;
