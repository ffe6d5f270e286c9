// The page's sums and sorted lists on a real ClickHouse: what is read from the tables of hours and
// days is what the answers themselves say.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { readOverview } from "../../gateway/page/data/overview.ts";
import { readOwners } from "../../gateway/page/data/owners.ts";
import type { OverviewFilter, RequestFilter } from "../../gateway/page/data/filters.ts";
import { findRequests } from "../../gateway/page/data/requests-found.ts";
import { type MigratedDatabase, startDatabase } from "../support/clickhouse.ts";

const [hour, day] = [3_600_000, 86_400_000];
const all = 40_000;
const spanMs = 65 * day;
/** A moment within an hour; the newest answer is just before it. */
const until = Math.floor(Date.now() / day) * day - 40 * 60_000 - 7_777;

let database: MigratedDatabase;
let clickhouse: ClickHouse;
beforeAll(async () => {
  database = await startDatabase("page_sums_test");
  clickhouse = database.clickhouse;
  // Costs and times of which many are equal, and copies of answers, which count for nothing.
  for (const duplicate of [0, 1])
    await clickhouse.command(
      `INSERT INTO responses (request_id, tenant, domain, account, attempt, status, arm, source, duplicate, prompt_tokens, completion_tokens,
         cost, saved_cost, first_token_ms, total_ms, error_code, created_at, kafka_offset)
       SELECT concat('r', leftPad(toString(number), 6, '0')), concat('tenant-', toString(hash % 3)), 'd', concat('prk-', toString(hash % 7)), 1,
         if(hash % 50 = 0, 'failed', 'ok'), ['small', 'large'][1 + other % 2], multiIf(hash % 50 = 0, 'none', hash % 9 = 0, 'cache', hash % 31 = 0, 'reuse', 'generated'),
         ${duplicate}, other % 300, hash % 100, 0.001 * (other % 40), if(hash % 9 = 0, 0.5, 0), if(other % 3 = 0, NULL, 10 + other % 100), 50 + hash % 2000,
         if(hash % 50 = 0, ['endpoint_timeout', 'cancelled'][1 + other % 2], NULL),
         fromUnixTimestamp64Milli(toInt64(${until - spanMs} + intDiv(number * ${spanMs}, ${all})), 'UTC'), number
       FROM (SELECT number, cityHash64(number) AS hash, cityHash64(number, 1) AS other FROM numbers(${all}) WHERE ${duplicate} = 0 OR number % 10 = 0)`,
    );
});
afterAll(() => database.remove());

const parts: Readonly<Record<string, string>> = {
  ...{ tenant: "tenant = {tenant:String}", arm: "arm = {arm:String}", key: "account = {key:String}" },
  ...{ domain: "domain = {domain:String}", error: "error_code = {error:String}" },
  source: "if({source:String} = 'cached', source IN ('cache', 'reuse'), source = {source:String})",
  state: "if({state:String} = 'unanswered', status != 'ok', status = {state:String})",
};
/** The same conditions, on the answers themselves. */
const conditionsOf = (filter: object): string =>
  [
    "NOT duplicate",
    "created_at >= fromUnixTimestamp64Milli({from:Int64})",
    "created_at < fromUnixTimestamp64Milli({until:Int64})",
  ]
    .concat(Object.keys(filter).flatMap((name) => parts[name] ?? []))
    .join(" AND ");

interface Plain {
  answers: number;
  failed: number;
  cacheHits: number;
  cost: number;
  savedCost: number;
  times: number[];
  firstTokens: number[];
}
async function plainFigures(filter: OverviewFilter): Promise<Plain> {
  const [row] = await clickhouse.query<Plain>(
    `SELECT count() AS answers, countIf(status != 'ok') AS failed, countIf(source IN ('cache', 'reuse')) AS cacheHits, sum(cost) AS cost,
       sum(saved_cost) AS savedCost, quantilesBFloat16(0.5, 0.95, 0.99)(toFloat32(total_ms)) AS times,
       quantilesBFloat16If(0.5, 0.95)(toFloat32(ifNull(first_token_ms, 0)), first_token_ms IS NOT NULL) AS firstTokens
     FROM responses FINAL WHERE ${conditionsOf(filter)}`,
    { ...filter },
  );
  return row!;
}

describe("the overview's sums", () => {
  const spans = [["3 hours", 3 * hour], ["36 hours", 36 * hour], ["10 days", 10 * day], ["30 days", 30 * day]] as const; // prettier-ignore
  it.each(spans)("of %s are those of the answers, in it and before it", async (_name, span) => {
    const midnight = Math.floor(until / day) * day;
    for (const end of [until, midnight - 5 * hour])
      for (const narrowed of [{}, { tenant: "tenant-1", arm: "large", key: "prk-3" }]) {
        const filter = { from: end - span, until: end, ...narrowed };
        const found = await readOverview(clickhouse, filter);
        for (const [figures, times] of [
          [found.now, filter],
          [found.before, { ...filter, from: filter.from - span, until: filter.from }],
        ] as const) {
          const { cost, savedCost, times: quantiles, firstTokens, ...counts } = await plainFigures(times);
          expect(figures).toMatchObject(counts);
          expect([figures.p50Ms, figures.p95Ms, figures.p99Ms]).toEqual(quantiles);
          expect([figures.firstTokenP50Ms, figures.firstTokenP95Ms]).toEqual(firstTokens);
          expect(figures.cost).toBeCloseTo(cost, 9);
          expect(figures.savedCost).toBeCloseTo(savedCost, 9);
        }
        for (const rows of [found.steps, found.arms])
          expect(rows.reduce((sum, { answers }) => sum + answers, 0)).toBe(found.now.answers);
        const owners = await readOwners(clickhouse, { ...filter, by: "tenant" });
        expect(owners.rows.reduce((sum, { answers }) => sum + answers, 0)).toBe(found.now.answers);
        expect(owners.rows.reduce((sum, { cost }) => sum + cost, 0)).toBeCloseTo(found.now.cost, 9);
      }
  });
});

it("count the answers of an INSERT once that is sent again, and others that are alike", async () => {
  const answer = (id: number, month: string) => ({
    ...{ request_id: `twice-${id}`, tenant: "twice", status: "ok", source: "generated", arm: "small", cost: 0.25 },
    ...{ total_ms: 5, prompt_tokens: 7, created_at: `2025-${month}-01 00:00:00.000`, kafka_offset: id },
  });
  // record and import put a month into an INSERT.
  const [one, other] = [[answer(1, "02"), answer(2, "02")], [answer(3, "03")]];
  for (const rows of [one, one, other, other, one, [answer(4, "02"), answer(5, "02")]])
    await clickhouse.insert("responses", rows);
  for (const [table, time] of Object.entries({ answer_hours: "hour", answer_days: "day" })) {
    const rows = await clickhouse.query(
      `SELECT toMonth(${time}) AS month, sum(answers) AS answers, sum(cost) AS cost, sum(prompt_tokens) AS tokens
       FROM ${table} WHERE tenant = 'twice' GROUP BY month ORDER BY month`,
    );
    expect(rows, table).toEqual([
      { month: 2, answers: 4, cost: 1, tokens: 28 },
      { month: 3, answers: 1, cost: 0.25, tokens: 7 },
    ]);
  }
});

const columns = { cost: "cost", latency: "total_ms" } as const;
type Sorted = RequestFilter & { sort: keyof typeof columns };

async function plainList(filter: Sorted): Promise<string[]> {
  const rows = await clickhouse.query<{ id: string }>(
    `SELECT request_id AS id FROM responses FINAL WHERE ${conditionsOf(filter)}
     ORDER BY ${columns[filter.sort]} DESC, created_at DESC, id LIMIT {limit:UInt32} OFFSET {offset:UInt32}`,
    { offset: 0, limit: 50, ...filter },
  );
  return rows.map(({ id }) => id);
}

describe("lists by cost and by latency", () => {
  /** Statements that the list takes, and whether each is bounded by the maxima of hours. */
  async function found(filter: Sorted): Promise<{ ids: string[]; bounded: boolean[] }> {
    const bounded: boolean[] = [];
    const query: ClickHouse["query"] = (sql, parameters) => {
      bounded.push(sql.includes("answer_hours"));
      return clickhouse.query(sql, parameters);
    };
    const { keys } = await findRequests({ query }, filter);
    return { ids: keys.map(({ id }) => id), bounded };
  }
  const month = { from: until - 30 * day, until };
  const filters: object[] = [
    {},
    { tenant: "tenant-2" },
    { key: "prk-3", arm: "small", source: "generated" },
    { state: "unanswered" },
    { error: "cancelled" },
    { offset: 170, limit: 30 },
    { source: "cached", tenant: "tenant-1", domain: "d", state: "ok" },
  ];
  for (const sort of ["cost", "latency"] as const)
    it.each(filters)(`${sort}, %j: those of the answers, by one bounded statement`, async (narrowed) => {
      for (const span of [month, { from: month.from + 11 * hour, until: until - 3 * day }]) {
        const filter = { ...span, ...narrowed, sort };
        const { ids, bounded } = await found(filter);
        expect(ids).toEqual(await plainList(filter));
        expect(bounded).toEqual([true]);
      }
    });
  it("has each answer on one page, also where a batch was recorded twice", async () => {
    const filter = { ...month, tenant: "tenant-1", sort: "cost" } as const;
    await clickhouse.command(
      `INSERT INTO responses (request_id, tenant, domain, account, attempt, status, arm, source, cost, total_ms, created_at, kafka_offset)
       SELECT request_id, tenant, domain, account, attempt, status, arm, source, cost, total_ms, created_at, kafka_offset FROM responses
       WHERE NOT duplicate AND created_at >= fromUnixTimestamp64Milli({from:Int64})`,
      { from: until - 2 * hour },
    );
    const pages: string[] = [];
    for (let offset = 0; offset < 400; offset += 50) pages.push(...(await found({ ...filter, offset })).ids);
    expect(pages).toEqual(await plainList({ ...filter, limit: 400 }));
  });
  it("is complete where answers were forgotten, and where there are few", async () => {
    const filter = { ...month, tenant: "tenant-0", sort: "latency" } as const;
    const { ids } = await found(filter);
    await clickhouse.command(
      "ALTER TABLE responses DELETE WHERE request_id IN {ids:Array(String)} SETTINGS mutations_sync = 2",
      { ids: ids.slice(3, 20) },
    );
    const left = await found(filter);
    expect(left.ids).toEqual(await plainList(filter));
    expect(left.ids.slice(0, 4)).toEqual([...ids.slice(0, 3), ids[20]]);
    expect(left.bounded).toEqual([true, false]);
    const hours = { ...filter, from: until - 2 * hour };
    expect((await found(hours)).ids).toEqual(await plainList(hours));
    expect((await found({ ...filter, tenant: "none" })).ids).toEqual([]);
  });
});
