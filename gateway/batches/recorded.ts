// Reads the recorded responses to lines of a batch. The request id ends in the padded line number,
// so that the rows of a batch are adjacent and in order.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { noAnswer } from "../../schemas/no-answer.ts";
import type { Response, Usage } from "../../schemas/types.ts";

export const requestIdOf = (batchId: string, line: number): string => `${batchId}-${String(line).padStart(9, "0")}`;
const lineOf = (requestId: string): number => Number(requestId.slice(-9));

interface Row
  extends
    Pick<Response, "requestId" | "status" | "text" | "finishReason" | "arm" | "model" | "source" | "exampleIds">,
    Pick<Response, "passthrough" | "domain" | "cost" | "savedCost" | "degraded">,
    Omit<Usage, "prompt" | "completion"> {
  promptTokens: number;
  completionTokens: number;
  planMs: number;
  queueMs: number;
  totalMs: number;
  errorCode: string | null;
  errorMessage: string | null;
  createdAt: number | string;
}

export interface Span {
  batchId: string;
  tenant: string;
  /** Lines, both included. */
  first: number;
  last: number;
  /** Milliseconds since the epoch; no line was answered before. */
  since: number;
}

const where = `
  FROM responses FINAL
  WHERE request_id >= {first:String} AND request_id <= {last:String} AND tenant = {tenant:String} AND NOT duplicate
    AND created_at >= fromUnixTimestamp64Milli({since:Int64})`;

const parametersOf = ({ batchId, first, last, tenant, since }: Span) => ({
  ...{ first: requestIdOf(batchId, first), last: requestIdOf(batchId, last), tenant },
  // Clocks of hosts differ.
  since: since - 3_600_000,
});

/** Lines of the span that are recorded, by what they ended in. */
export interface RecordedCounts {
  completed: number;
  failed: number;
}

/** Rejects as the ClickHouse port does. */
export async function countRecorded(clickhouse: Pick<ClickHouse, "query">, span: Span): Promise<RecordedCounts> {
  const [row] = await clickhouse.query<Record<keyof RecordedCounts, number | string>>(
    `SELECT countIf(status = 'ok') AS completed, countIf(status != 'ok') AS failed ${where}`,
    parametersOf(span),
  );
  return { completed: Number(row?.completed ?? 0), failed: Number(row?.failed ?? 0) };
}

/** By line. Rejects as the ClickHouse port does. */
export async function readRecorded(
  clickhouse: Pick<ClickHouse, "query">,
  span: Span,
): Promise<ReadonlyMap<number, Response>> {
  const rows = await clickhouse.query<Row>(
    `SELECT request_id AS requestId, status, text, nullIf(passthrough, '') AS passthrough, finish_reason AS finishReason, arm, model, source,
            example_ids AS exampleIds, domain, cost, saved_cost AS savedCost, degraded, prompt_tokens AS promptTokens, completion_tokens AS completionTokens,
            linked_tokens AS linked, recomputed_tokens AS recomputed, prefilled_tokens AS prefilled, cached_tokens AS cached,
            cache_write_tokens AS cacheWrite, reasoning_tokens AS reasoning, tokens_estimated AS estimated, plan_ms AS planMs,
            queue_ms AS queueMs, total_ms AS totalMs, error_code AS errorCode, error_message AS errorMessage,
            toUnixTimestamp64Milli(created_at) AS createdAt ${where}`,
    parametersOf(span),
  );
  return new Map(rows.map((row) => [lineOf(row.requestId), responseOf(row, span.tenant)]));
}

function responseOf(row: Row, tenant: string): Response {
  const { promptTokens, completionTokens, planMs, queueMs, totalMs, errorCode, errorMessage, createdAt, ...more } = row;
  const { linked, recomputed, prefilled, cached, cacheWrite, reasoning, estimated, ...response } = more;
  return {
    ...noAnswer(),
    ...response,
    tenant,
    usage: {
      ...{ prompt: promptTokens, completion: completionTokens, linked, recomputed, prefilled, cached, cacheWrite },
      ...{ reasoning, estimated },
    },
    timings: { plan: planMs, queue: queueMs, firstToken: null, total: totalMs },
    error:
      errorCode === null ? null : { code: errorCode, message: errorMessage ?? "", param: null, retryAfterMs: null },
    createdAt: Number(createdAt),
  };
}
