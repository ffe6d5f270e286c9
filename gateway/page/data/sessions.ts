// Sessions, newest first: found by their last requests, in ever longer windows before the end of
// the time, so that a month of many requests is not read for one page. Their sums are looked up,
// of a bounded number of requests each, so that a long session takes nothing from the others.
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import { conditionsOf, during, parametersOf } from "./answers.ts";
import type { SessionFilter } from "./filters.ts";
import { readBack } from "./windows.ts";

export interface SessionRow {
  session: string;
  tenant: string;
  firstAt: number;
  lastAt: number;
  requests: number;
  /** How many of them, the newest, the figures below are of: fewer where the session is long. */
  summed: number;
  /** Failed, refused or under way. */
  unanswered: number;
  arms: string[];
  /** Answers by another arm than the answer before. */
  switches: number;
  cost: number;
  promptTokens: number;
  cachedTokens: number;
  /** Mean of its rated requests; null: none is rated. */
  reward: number | null;
}

export interface SessionList {
  rows: SessionRow[];
  /** Where the search ended, with enough of them or out of time; null: at the start. */
  searchedFrom: number | null;
}

const mostShown = 100;
/** Requests of a session that are summed, at most. */
export const mostSummed = 1_000;
const windows = { firstMs: 3_600_000, mostMs: 400 };
/** How far back from its last request a session is followed. */
const longestMs = 86_400_000;

type Found = Pick<SessionRow, "session" | "tenant">;

export async function readSessions(
  clickhouse: Pick<ClickHouse, "query">,
  { from, until, tenant, search = "" }: SessionFilter,
): Promise<SessionList> {
  const found = new Map<string, Found>();
  const isEnough = (): boolean => found.size >= mostShown;
  const end = await readBack({ from, until }, windows, isEnough, async (window) => {
    const rows = await clickhouse.query<Found>(
      `SELECT session, tenant FROM requests WHERE ${during("created_at")} AND session != '' AND startsWith(session, {search:String})${conditionsOf({ tenant })}
       GROUP BY session, tenant ORDER BY max(created_at) DESC, session LIMIT ${mostShown}`,
      { ...parametersOf({ tenant }), search, ...window },
    );
    for (const row of rows) if (!isEnough()) found.set(JSON.stringify([row.tenant, row.session]), row);
  });
  if (found.size === 0) return { rows: [], searchedFrom: end > from ? end : null };
  const listed = [...found.values()];
  const rows = await clickhouse.query<SessionRow>(statement, {
    ...{ sessions: listed.map(({ session }) => session), tenants: [...new Set(listed.map((row) => row.tenant))] },
    ...{ from: Math.max(0, end - longestMs), until },
  });
  return {
    rows: rows.filter((row) => found.has(JSON.stringify([row.tenant, row.session]))),
    searchedFrom: end > from ? end : null,
  };
}

const its = "request_id IN (SELECT request_id FROM asked)";
const shown = `${during("created_at")} AND session IN {sessions:Array(String)} AND tenant IN {tenants:Array(String)}`;
const statement = `
  WITH asked AS (
    SELECT request_id, tenant, session, created_at FROM (
      SELECT request_id, tenant, session, created_at FROM requests WHERE ${shown} LIMIT 1 BY request_id, tenant
    ) ORDER BY created_at DESC LIMIT ${mostSummed} BY session, tenant
  )
  , arraySort(groupArrayIf(${mostSummed})((asked.created_at, answer.arm), answer.arm != '')).2 AS in_order
  SELECT asked.session AS session, asked.tenant AS tenant, toUnixTimestamp64Milli(any(whole.first_at)) AS firstAt,
    toUnixTimestamp64Milli(any(whole.last_at)) AS lastAt, any(whole.requests) AS requests, count() AS summed, countIf(answer.status != 'ok') AS unanswered,
    arraySort(groupUniqArrayIf(answer.arm, answer.arm != '')) AS arms,
    toUInt64(arraySum(arrayMap((one, before) -> one != before, arrayPopFront(in_order), arrayPopBack(in_order)))) AS switches,
    sum(answer.cost) AS cost, sum(answer.prompt_tokens) AS promptTokens, sum(answer.cached_tokens) AS cachedTokens,
    if(countIf(rated.weight > 0) = 0, NULL, sumIf(rated.reward, rated.weight > 0) / countIf(rated.weight > 0)) AS reward
  FROM asked
  LEFT JOIN (
    SELECT session, tenant, uniqExact(request_id) AS requests, min(created_at) AS first_at, max(created_at) AS last_at
    FROM requests WHERE ${shown} GROUP BY session, tenant
  ) AS whole ON whole.session = asked.session AND whole.tenant = asked.tenant
  LEFT JOIN (
    SELECT request_id, tenant, status, ifNull(arm, '') AS arm, cost, prompt_tokens, cached_tokens FROM responses
    WHERE ${its} AND NOT duplicate LIMIT 1 BY request_id, tenant
  ) AS answer ON answer.request_id = asked.request_id AND answer.tenant = asked.tenant
  LEFT JOIN (
    SELECT request_id, tenant, reward, weight FROM rewards FINAL WHERE ${its}
  ) AS rated ON rated.request_id = asked.request_id AND rated.tenant = asked.tenant
  GROUP BY session, tenant ORDER BY lastAt DESC, session
  SETTINGS distributed_product_mode = 'global'`;
