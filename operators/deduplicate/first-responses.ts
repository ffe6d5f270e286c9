// The first response to an id, found in ClickHouse: record writes every response there, usually
// within a second. The row of a redacted one (privacy.redact) names its position on the topic,
// where it is as it was sent.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Response, ResponseError } from "../../schemas/types.ts";
import type { SentPosition, SentResponse } from "../../state/sent-response.ts";
import { responseError } from "../refusal.ts";
import { SEEN_FOR_MS } from "./seen.ts";

/** What a copy needs of the first response. */
export interface FirstResponse {
  attempt: number;
  status: "ok" | "failed" | "refused";
  text: string;
  passthrough: string | null;
  finishReason: string | null;
  stopSequence: string | null;
  arm: string | null;
  model: string | null;
  source: Response["source"];
  exampleIds: string[];
  error: ResponseError | null;
  degraded: string[];
}

/** gone: it stands nowhere any more as it was sent. */
export type FoundResponse = FirstResponse | "gone";

export interface FirstResponses {
  /**
   * Null: not answered yet, or not recorded yet. Rejects with ClickHouseUnavailable while it can't
   * be asked, and while the brokers can't.
   */
  find(tenant: string, requestId: string, now: number): Promise<FoundResponse | null>;
}

interface Row extends Omit<FirstResponse, "error">, Omit<SentPosition, "offset"> {
  errorCode: string | null;
  errorMessage: string | null;
  redacted: boolean;
  offset: number | string;
}

// Bounded by time as well, for the table is partitioned by it. A copy is never copied: its source
// is the first response.
const QUERY = `
  SELECT attempt, status, text, nullIf(passthrough, '') AS passthrough, finish_reason AS finishReason, stop_sequence AS stopSequence, arm, model, source, example_ids AS exampleIds,
         error_code AS errorCode, error_message AS errorMessage, degraded,
         redacted, topic, kafka_partition AS partition, kafka_offset AS offset
  FROM responses FINAL
  WHERE tenant = {tenant:String} AND request_id = {requestId:String} AND NOT duplicate
    AND created_at >= fromUnixTimestamp64Milli({since:Int64})
  ORDER BY created_at LIMIT 1`;

export function createFirstResponses(clickhouse: Pick<ClickHouse, "query">, sent: SentResponse): FirstResponses {
  return {
    async find(tenant, requestId, now) {
      // A response may follow its request by as long as a deadline may be.
      const [row] = await clickhouse.query<Row>(QUERY, { tenant, requestId, since: now - 2 * SEEN_FOR_MS });
      if (row === undefined) return null;
      const { errorCode, errorMessage, redacted, topic, partition, offset, ...response } = row;
      if (redacted) {
        const whole = await sent({ topic, partition, offset: Number(offset) }, tenant, requestId);
        return whole ?? "gone";
      }
      const error = errorCode ? responseError({ code: errorCode, message: errorMessage ?? "" }) : null;
      return { ...response, error };
    },
  };
}
