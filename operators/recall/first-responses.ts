// The first response to an id, found in ClickHouse: record writes every response there, usually
// within a second.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { SEEN_FOR_MS } from "./seen.ts";

/** What a copy needs of the first response. */
export interface FirstResponse {
  attempt: number;
  status: "ok" | "failed" | "refused";
  text: string;
  passthrough: string | null;
  finishReason: string | null;
  arm: string | null;
  model: string | null;
  source: "generated" | "cache" | "reuse" | "replayed" | "none";
  exampleIds: string[];
  error: { code: string; message: string } | null;
  degraded: string[];
}

export interface FirstResponses {
  /**
   * Null: not answered yet, or not recorded yet. Rejects with ClickHouseUnavailable while it can't
   * be asked.
   */
  find(tenant: string, requestId: string, now: number): Promise<FirstResponse | null>;
}

type Row = Omit<FirstResponse, "error"> & { errorCode: string | null; errorMessage: string | null };

// Bounded by time as well, for the table is partitioned by it. A copy is never copied: its source
// is the first response.
const QUERY = `
  SELECT attempt, status, text, nullIf(passthrough, '') AS passthrough, finish_reason AS finishReason, arm, model, source, example_ids AS exampleIds,
         error_code AS errorCode, error_message AS errorMessage, degraded
  FROM responses FINAL
  WHERE tenant = {tenant:String} AND request_id = {requestId:String} AND NOT duplicate
    AND created_at >= fromUnixTimestamp64Milli({since:Int64})
  ORDER BY created_at LIMIT 1`;

export function createFirstResponses(clickhouse: Pick<ClickHouse, "query">): FirstResponses {
  return {
    async find(tenant, requestId, now) {
      // A response may follow its request by as long as a deadline may be.
      const [row] = await clickhouse.query<Row>(QUERY, { tenant, requestId, since: now - 2 * SEEN_FOR_MS });
      if (row === undefined) return null;
      const { errorCode, errorMessage, ...response } = row;
      return { ...response, error: errorCode ? { code: errorCode, message: errorMessage ?? "" } : null };
    },
  };
}
