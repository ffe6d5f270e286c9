// Logged calls of the arms, from ClickHouse, page by page and the newest first: what planning of
// capacity rests on. Nothing is written.
import { Shortfall } from "./shortfall.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Request } from "./requests.ts";

/** A request that an arm answered, milliseconds. */
export interface LoggedRequest extends Request {
  id: string;
  tenant: string;
  planMs: number;
  /** From planning until the call began. */
  queueMs: number;
  /** From the beginning of the call; first is null where it was not logged. */
  firstMs: number | null;
  serviceMs: number;
  /** Answered by the first call of the first arm: its times are those of one call. */
  clean: boolean;
}

export interface CallLog {
  /** Names; requests hold places in it. */
  arms: string[];
  /** By arrival. */
  requests: LoggedRequest[];
  /** Answers of the window that no arm was called for, or that failed. */
  leftOut: { cached: number; failed: number };
  /** Older ones of the window were not read. */
  more: boolean;
}

interface Row {
  id: string;
  tenant: string;
  arm: string;
  computed: number;
  reused: number;
  completion: number;
  plan_ms: number;
  queue_ms: number;
  first_ms: number | null;
  total_ms: number;
  clean: boolean;
  ended: number;
}

const pageSize = 20_000;
const inWindow = `created_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') AND created_at < fromUnixTimestamp64Milli({until:Int64}, 'UTC') AND NOT duplicate`;
const called = "status = 'ok' AND source = 'generated' AND arm IS NOT NULL";

// Of what stands in the prompt `reused` came from a cache: linked, or kept by the endpoint.
const selectPage = `
  SELECT request_id AS id, tenant, ifNull(arm, '') AS arm, prefilled_tokens + recomputed_tokens AS computed,
    toUInt32(greatest(0, toInt64(prompt_tokens) - toInt64(prefilled_tokens + recomputed_tokens))) AS reused, completion_tokens AS completion,
    plan_ms, queue_ms, first_token_ms AS first_ms, total_ms, attempt = 1 AND empty(failed_arms.arm) AS clean,
    toUnixTimestamp64Milli(created_at) AS ended
  FROM responses FINAL
  WHERE ${inWindow} AND ${called} AND (toUnixTimestamp64Milli(created_at), request_id, tenant) < ({before:Int64}, {id:String}, {tenant:String})
  ORDER BY created_at DESC, request_id DESC, tenant DESC LIMIT {limit:UInt32}`;
const selectRest = `
  SELECT countIf(status = 'ok' AND NOT (${called})) AS cached, countIf(status != 'ok') AS failed, countIf(${called}) AS calls
  FROM responses FINAL WHERE ${inWindow}`;

/** The newest `most` of the window. Rejects with Shortfall where there is none. */
export async function readCalls(
  clickhouse: Pick<ClickHouse, "query">,
  { since, until }: { since: number; until: number },
  { most, signal }: { most: number; signal: AbortSignal },
): Promise<CallLog> {
  const [rest] = await clickhouse.query<{ cached: number; failed: number; calls: number }>(selectRest, {
    since,
    until,
  });
  const { cached = 0, failed = 0, calls = 0 } = rest ?? {};
  const places = new Map<string, number>();
  const requests: LoggedRequest[] = [];
  let after = { before: until, id: "", tenant: "" };
  while (requests.length < Math.min(most, calls)) {
    signal.throwIfAborted();
    const limit = Math.min(pageSize, most - requests.length);
    const rows = await clickhouse.query<Row>(selectPage, { since, until, limit, ...after });
    const last = rows.at(-1);
    if (last === undefined) break;
    for (const row of rows) {
      if (!places.has(row.arm)) places.set(row.arm, places.size);
      requests.push(requestOf(row, places.get(row.arm)!));
    }
    after = { before: last.ended, id: last.id, tenant: last.tenant };
  }
  if (requests.length === 0)
    throw new Shortfall(
      `no arm answered between ${new Date(since).toISOString()} and ${new Date(until).toISOString()} (${cached} answers from the cache, ${failed} failed): widen --since`,
    );
  requests.sort((a, b) => a.arrival - b.arrival);
  return { arms: [...places.keys()], requests, leftOut: { cached, failed }, more: calls > requests.length };
}

/** The log's times count from arrival. */
function requestOf(row: Row, arm: number): LoggedRequest {
  const waited = row.plan_ms + row.queue_ms;
  const since = (ms: number): number => Math.max(0, ms - waited);
  return {
    ...{ id: row.id, tenant: row.tenant, arm, arrival: row.ended - row.total_ms },
    ...{ computed: row.computed, reused: row.reused, completion: row.completion },
    ...{ planMs: row.plan_ms, queueMs: row.queue_ms, serviceMs: since(row.total_ms) },
    ...{ firstMs: row.first_ms === null ? null : since(row.first_ms), clean: row.clean },
  };
}
