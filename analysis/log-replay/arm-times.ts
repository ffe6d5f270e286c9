// How long a call of each arm takes by its size, fitted to the calls that a log holds.
import {
  fitServiceTimes,
  type CallSize,
  type ServiceTimes,
} from "../../algorithms/queueing/arm-queues/service-times.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { groupBy } from "../../algorithms/lists/lists.ts";

export interface ArmTimes {
  times: ServiceTimes;
  /** Means of its calls. */
  mean: CallSize;
}

const mostTimed = 20_000;
const number = (name: string): string => `ifNull(JSONExtract(answer, '${name}', 'Nullable(Float64)'), 0)`;
const numberOrNull = (name: string): string => `JSONExtract(answer, '${name}', 'Nullable(Float64)')`;

/** SQL for the prompt tokens of an answer in log_answers; 0: not logged. */
export const promptTokens = number("promptTokens");

/** Columns of an answer of log_answers: tokens, milliseconds. */
export const sizes = `${promptTokens} AS prompt, ${number("completionTokens")} AS completion,
  ${numberOrNull("firstTokenMs")} AS first_ms, ${numberOrNull("serviceMs")} AS service_ms`;

interface Timed {
  arm: string;
  computed: number;
  reused: number;
  completion: number;
  first_ms: number | null;
  service_ms: number;
}

const selectOfLog = (log: string): string => `
  SELECT arm, prompt AS computed, 0 AS reused, completion, first_ms, service_ms FROM (
    SELECT arm, ordinal, ${sizes} FROM ${log}.log_answers WHERE own AND has_text
  ) WHERE ifNull(service_ms, 0) > 0 ORDER BY cityHash64(ordinal), ordinal LIMIT ${mostTimed} BY arm`;

// Tokens of the prompt that were not computed came from a cache: linked, or kept by the endpoint.
// Only answers of the first call of the first arm: their times are those of one call.
const selectOfLive = `
  SELECT assumeNotNull(arm) AS arm, prefilled_tokens + recomputed_tokens AS computed,
    greatest(0, toInt64(prompt_tokens) - toInt64(prefilled_tokens + recomputed_tokens)) AS reused, completion_tokens AS completion,
    greatest(0, first_token_ms - plan_ms - queue_ms) AS first_ms, greatest(0, total_ms - plan_ms - queue_ms) AS service_ms
  FROM responses FINAL
  WHERE NOT duplicate AND status = 'ok' AND source = 'generated' AND responses.arm IS NOT NULL
    AND attempt = 1 AND empty(failed_arms.arm)
  ORDER BY created_at DESC LIMIT ${mostTimed}`;

/** By arm, of the log replay's log in database `log`; arms with too few calls are missing. */
export const timesOfLog = async (clickhouse: Pick<ClickHouse, "query">, log: string): Promise<Map<string, ArmTimes>> =>
  timesOf(await clickhouse.query<Timed>(selectOfLog(log)));

/** The same of the newest calls of the live log. */
export const timesOfLive = async (live: Pick<ClickHouse, "query">): Promise<Map<string, ArmTimes>> =>
  timesOf(await live.query<Timed>(selectOfLive));

function timesOf(rows: readonly Timed[]): Map<string, ArmTimes> {
  const out = new Map<string, ArmTimes>();
  for (const [arm, mine] of groupBy(rows, (row) => row.arm)) {
    const calls = mine.map((row) => ({
      ...{ computed: Number(row.computed), reused: Number(row.reused), completion: Number(row.completion) },
      ...{ firstMs: row.first_ms, totalMs: row.service_ms },
    }));
    const times = fitServiceTimes(calls);
    if (times !== null) out.set(arm, { times, mean: meanOf(calls) });
  }
  return out;
}

function meanOf(calls: readonly CallSize[]): CallSize {
  const mean = (of: (call: CallSize) => number): number =>
    calls.reduce((sum, call) => sum + of(call), 0) / calls.length;
  return {
    computed: mean(({ computed }) => computed),
    reused: mean(({ reused }) => reused),
    completion: mean(({ completion }) => completion),
  };
}
