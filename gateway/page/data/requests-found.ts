// Which requests a list shows. One table drives it: that of what it is narrowed or sorted by, read
// within its time and cut to a few rows; other filters are looked up in the same time.
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import { at, conditionsOf, dayMs, during, hourMs, parametersOf as commonOf, timesOf } from "./answers.ts";
import { boundOf, type Bound } from "./maxima.ts";
import { pageRowsOf } from "./page-rows.ts";
import type { RequestFilter } from "./filters.ts";
import type { RequestRow } from "./types/requests.ts";
import { readBack } from "./windows.ts";

export type Key = Pick<RequestRow, "id" | "tenant">;
export interface Found {
  /** In the order of the list. */
  keys: Key[];
  searchedFrom: number | null;
}

const mostRows = 200;
/** How far a search for words, a user, a session or a tag reads back. */
const windows = { firstMs: dayMs / 4, mostMs: 700 };

export async function findRequests(clickhouse: Pick<ClickHouse, "query">, filter: RequestFilter): Promise<Found> {
  const { search = "", answer = "", state, until, offset = 0 } = filter;
  const limit = Math.min(filter.limit ?? pageRowsOf(filter), mostRows);
  // No request is open for longer: deadlines are shorter.
  const from = state === "open" ? Math.max(filter.from, until - dayMs) : filter.from;
  const rows = { offset, limit };
  const ask = (
    times: { from: number; until: number },
    { byId = false, bound = null, ...its }: Asking = {},
  ): Promise<Key[]> =>
    clickhouse.query<Key>(statementOf(filter, byId, bound), { ...parametersOf(filter), ...times, ...rows, ...its });
  const isNewestFirst = (filter.sort ?? "time") === "time";
  const isSearch = search !== "" || answer !== "" || ofRequests(filter) !== "";
  if (search === "" && !(isNewestFirst && isSearch)) {
    const times = { from, until };
    const bound = boundOf(filter, ofResponses(filter));
    const keys = await ask(times, { bound, ...timesOf(times, hourMs), rows: offset + limit });
    const isWhole = bound === null || keys.length === limit;
    return { keys: isWhole ? keys : await ask(times), searchedFrom: null };
  }
  const byId = search === "" || /\s/.test(search) ? [] : await ask({ from, until }, { byId: true });
  if (byId.length > 0) return { keys: byId, searchedFrom: null };
  const found: Key[] = [];
  const isEnough = (): boolean => found.length >= offset + limit;
  const end = await readBack({ from, until }, windows, isEnough, async (window) => {
    found.push(...(await ask(window, { offset: 0, limit: offset + limit - found.length })));
  });
  return { keys: found.slice(offset), searchedFrom: end > from && !isEnough() ? end : null };
}

interface Asking {
  /** Which of the rows; absent: those of the filter. */
  offset?: number;
  limit?: number;
  /** `search` is the beginning of an id. */
  byId?: boolean;
  bound?: Bound | null;
  [parameter: string]: unknown;
}

/** Filters on requests. */
const ofRequests = ({ user = "", session = "", tag = "" }: RequestFilter): string =>
  [
    user === "" ? "" : " AND metadata['user'] = {user:String}",
    session === "" ? "" : " AND session = {session:String}",
    tag === "" ? "" : " AND mapContains(metadata, {tag:String})",
    tagOf(tag).value === "" ? "" : " AND metadata[{tag:String}] = {tagValue:String}",
  ].join("");

/** "name=value" or "name"; value "": any. */
function tagOf(text: string): { tag: string; value: string } {
  const end = text.indexOf("=");
  return end < 0
    ? { tag: text.trim(), value: "" }
    : { tag: text.slice(0, end).trim(), value: text.slice(end + 1).trim() };
}

/** Filters on responses, except arm and key. */
const ofResponses = ({ source = "", error = "", answer = "", state, minCost, minMs }: RequestFilter): string =>
  [
    source === "" ? "" : source === "cached" ? " AND source IN ('cache', 'reuse')" : " AND source = {source:String}",
    error === "" ? "" : " AND error_code = {error:String}",
    state === "unanswered" ? " AND status != 'ok'" : "",
    state === "ok" || state === "failed" || state === "refused" ? " AND status = {state:String}" : "",
    answer === "" ? "" : " AND positionCaseInsensitiveUTF8(text, {answer:String}) > 0",
    minCost === undefined ? "" : " AND cost >= {minCost:Float64}",
    minMs === undefined ? "" : " AND total_ms >= {minMs:Float64}",
  ].join("");

const orders = {
  requests: "created_at DESC, request_id",
  time: "created_at DESC, request_id",
  cost: "cost DESC, created_at DESC, request_id",
  latency: "total_ms DESC, created_at DESC, request_id",
  reward: "reward, newest_at DESC, request_id",
};

/** offset and limit: of the rows without repeats, which are few. */
function statementOf(filter: RequestFilter, byId: boolean, bound: Bound | null): string {
  const { search = "", state, maxReward } = filter;
  // What is open has no cost, time or reward yet.
  const sort = search === "" && state !== "open" ? (filter.sort ?? "time") : "time";
  const byArm = conditionsOf({ arm: filter.arm, key: filter.key });
  const [request, others] = [ofRequests(filter), ofResponses(filter)];
  const response = byArm + others;
  const owner = conditionsOf({ tenant: filter.tenant, domain: filter.domain });
  const searched =
    search === ""
      ? ""
      : byId
        ? " AND startsWith(request_id, {search:String})"
        : " AND positionCaseInsensitiveUTF8(question, {search:String}) > 0";
  const among = (table: string, conditions: string): string =>
    ` (request_id, tenant) IN (SELECT request_id, tenant FROM ${table} WHERE ${during("created_at", dayMs)}${conditions})`;
  const rated = " AND weight > 0 AND reward <= {maxReward:Float64}";
  const inRequests = request === "" ? "" : ` AND${among("requests", owner + request)}`;
  const inResponses = (its: string): string =>
    its === "" ? "" : ` AND${among("responses", ` AND NOT duplicate${its}`)}`;
  const [table, conditions, order] =
    search === "" && sort === "reward"
      ? [
          "rewards FINAL",
          `${during("newest_at")}${owner}${byArm}${rated}${inRequests}${inResponses(others)}`,
          orders.reward,
        ]
      : search === "" && (response !== "" || sort !== "time")
        ? ["responses", `${during("created_at")} AND NOT duplicate${owner}${response}${inRequests}`, orders[sort]]
        : ["requests", `${during("created_at")}${owner}${request}${searched}${inResponses(response)}`, orders.requests];
  // A rating may come long after the answer.
  const isRated =
    maxReward === undefined || table === "rewards FINAL"
      ? ""
      : ` AND (request_id, tenant) IN (SELECT request_id, tenant FROM rewards FINAL WHERE newest_at >= ${at("from", -dayMs)}${rated})`;
  // Times alone are read of a month, and ids of few rows.
  const isPlain = table === "requests" && request + searched + response + isRated === "" && state !== "open";
  const newest = `SELECT created_at FROM requests WHERE ${during("created_at")}${owner} ORDER BY created_at DESC LIMIT {most:UInt32}`;
  const isNewest = isPlain ? ` AND created_at >= (SELECT min(created_at) FROM (${newest}))` : "";
  const isOpen = state === "open" ? ` AND NOT${among("responses", "")}` : "";
  return `${bound?.with ?? ""} SELECT request_id AS id, tenant FROM (
      SELECT request_id, tenant FROM ${table} WHERE ${conditions}${bound?.condition ?? ""}${isRated}${isOpen}${isNewest}
      ORDER BY ${order} LIMIT {most:UInt32}
    ) LIMIT 1 BY request_id, tenant LIMIT {limit:UInt32} OFFSET {offset:UInt32}
    SETTINGS distributed_product_mode = 'local'`;
}

/** Parameters that the statement does not use are ignored. */
function parametersOf(filter: RequestFilter): Record<string, unknown> {
  const { limit = pageRowsOf(filter), offset = 0 } = filter;
  const { tag, value: tagValue } = tagOf(filter.tag ?? "");
  return {
    ...{
      source: "",
      error: "",
      user: "",
      session: "",
      search: "",
      answer: "",
      state: "",
      minCost: 0,
      minMs: 0,
      maxReward: 1,
    },
    ...{ ...commonOf(filter), tag, tagValue },
    most: offset + Math.min(limit, mostRows) + mostRows,
  };
}
