// Sums over answers of any period, from the tables of whole days and hours (schemas/clickhouse/0012
// and 0014) and, at the ends and where steps are shorter than an hour, from the answers themselves.
// A month of ten million answers is read in less than a second.
import type { OverviewFilter } from "./filters.ts";

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;
/** Most rows: arms times sources times steps of a chart. */
const mostRows = 20_000;

/**
 * Milliseconds since the epoch. [daysFrom, daysUntil) is read from the table of days, the rest of
 * [hoursFrom, hoursUntil) from that of hours.
 */
interface Times {
  from: number;
  until: number;
  hoursFrom: number;
  hoursUntil: number;
  daysFrom: number;
  daysUntil: number;
  /** Seconds. */
  step: number;
}

/** Parameters of answersIn. Days and hours are read whole where stepMs is a multiple of them. */
export function timesOf({ from, until }: Pick<OverviewFilter, "from" | "until">, stepMs: number): Times {
  const [hoursFrom, hoursUntil] = wholeIn(from, until, stepMs % hourMs === 0 ? hourMs : 0);
  const [daysFrom, daysUntil] = wholeIn(hoursFrom, hoursUntil, stepMs % dayMs === 0 ? dayMs : 0);
  return { from, until, hoursFrom, hoursUntil, daysFrom, daysUntil, step: stepMs / 1_000 };
}

/** The whole units of a period; at its end, and empty, where there are none or unitMs is 0. */
function wholeIn(from: number, until: number, unitMs: number): [from: number, until: number] {
  const [first, last] = [Math.ceil(from / unitMs) * unitMs, Math.floor(until / unitMs) * unitMs];
  return unitMs > 0 && first < last ? [first, last] : [until, until];
}

export const at = (name: string, slackMs = 0): string =>
  `fromUnixTimestamp64Milli({${name}:Int64}${slackMs === 0 ? "" : ` + ${slackMs}`}, 'UTC')`;

/** The condition that a column lies in a filter's time, or so much around it. */
export const during = (column: string, slackMs = 0): string =>
  `${column} >= ${at("from", -slackMs)} AND ${column} < ${at("until", slackMs)}`;
/** A parameter in ms, as the second in which it lies. */
export const second = (name: string): string => `toDateTime(intDiv({${name}:Int64}, 1000), 'UTC')`;
const keys = "tenant, domain, account, arm, source, status, error_code";
const sums = [
  ...["cost", "failed_cost", "saved_cost", "example_tokens", "prompt_tokens"],
  ...["linked_tokens", "recomputed_tokens", "prefilled_tokens", "cached_tokens"],
];

/** Parameters of a filter: those that it leaves out are as here, and are in no condition. */
export const parametersOf = (filter: object): Record<string, unknown> => ({
  ...{ tenant: "", domain: "", arm: "", key: "" },
  ...Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)),
});

/** The conditions of a filter on columns that all tables of answers have. */
export const conditionsOf = ({ tenant = "", domain = "", arm = "", key = "" }: Partial<OverviewFilter>): string =>
  [
    tenant === "" ? "" : " AND tenant = {tenant:String}",
    domain === "" ? "" : " AND domain = {domain:String}",
    arm === "" ? "" : " AND arm = {arm:String}",
    key === "" ? "" : " AND account = {key:String}",
  ].join("");

const summed = (time: string): string => `
  SELECT toDateTime(toStartOfInterval(${time}, toIntervalSecond({step:UInt32})), 'UTC') AS at, ${keys}, answers, tokens,
    ${sums.join(", ")}, total_ms, first_token_ms`;

/** A subquery: rows of answer_hours with `at` for `hour`; repeated answers count once. */
export const answersIn = (filter: Partial<OverviewFilter>): string => `
  ${summed("day")} FROM answer_days
  WHERE day >= ${second("daysFrom")} AND day < ${second("daysUntil")}${conditionsOf(filter)}
  UNION ALL
  ${summed("hour")} FROM answer_hours
  WHERE hour >= ${second("hoursFrom")} AND hour < ${second("hoursUntil")}
    AND (hour < ${second("daysFrom")} OR hour >= ${second("daysUntil")})${conditionsOf(filter)}
  UNION ALL
  SELECT toDateTime(toStartOfInterval(one.created_at, toIntervalSecond({step:UInt32})), 'UTC') AS at,
    one.tenant AS tenant, one.domain AS domain, one.account AS account, ifNull(one.arm, '') AS arm,
    one.source AS source, one.status AS status, ifNull(one.error_code, '') AS error_code,
    count() AS answers, sum(toUInt64(one.prompt_tokens) + one.completion_tokens) AS tokens,
    ${sums.map((name) => `sum(one.${name}) AS ${name}`).join(", ")},
    quantilesBFloat16State(0.5, 0.95, 0.99)(toFloat32(one.total_ms)) AS total_ms,
    quantilesBFloat16IfState(0.5, 0.95, 0.99)(toFloat32(ifNull(one.first_token_ms, 0)), one.first_token_ms IS NOT NULL) AS first_token_ms
  FROM (
    SELECT ${keys}, completion_tokens, created_at, total_ms, first_token_ms, ${sums.join(", ")}
    FROM responses
    WHERE ${during("created_at")} AND NOT duplicate
      AND (created_at < ${at("hoursFrom")} OR created_at >= ${at("hoursUntil")})${conditionsOf(filter)}
    LIMIT 1 BY request_id, tenant
  ) AS one
  GROUP BY at, ${keys}`;

const part = (name: string): string => `sum(${name}) AS ${name}_sum`;
const total = "quantilesBFloat16Merge(0.5, 0.95, 0.99)(answer.total)";
const first = "quantilesBFloat16IfMerge(0.5, 0.95, 0.99)(answer.first_token)";
const known = (quantiles: string, place: number): string =>
  `if(isNaN(${quantiles}[${place}]), NULL, ${quantiles}[${place}])`;

/** Level of a row of figuresIn: step, arm and source; arm; error code; all. */
export const levels = { step: 1, arm: 11, code: 14, all: 15 } as const;

/** Rows of every level in one pass. The sums come first, so that none is cut off. */
export const figuresIn = (filter: Partial<OverviewFilter>): string => `
  SELECT grouping(answer.at, answer.arm, answer.source, answer.error_code) AS level,
    toUnixTimestamp(answer.at) * 1000 AS at, answer.arm AS arm, answer.source AS source, answer.error_code AS code,
    sum(answer.n) AS answers, sumIf(answer.n, answer.status != 'ok') AS failed, sumIf(answer.n, answer.source IN ('cache', 'reuse')) AS cacheHits,
    sum(answer.cost_sum) AS cost, sum(answer.saved_cost_sum) AS savedCost,
    toUInt64(sumIf(greatest(toInt64(answer.all_tokens) - toInt64(answer.example_tokens_sum), 0), answer.source = 'generated')) AS tokens,
    sumIf(answer.cost_sum - answer.failed_cost_sum, answer.source = 'generated') AS generatedCost,
    sumIf(answer.all_tokens, answer.source = 'generated') AS generatedTokens,
    sum(answer.prompt_tokens_sum) AS promptTokens, sum(answer.linked_tokens_sum) AS linkedTokens,
    sum(answer.recomputed_tokens_sum) AS recomputedTokens, sum(answer.prefilled_tokens_sum) AS prefilledTokens,
    ${known(total, 1)} AS p50Ms, ${known(total, 2)} AS p95Ms, ${known(total, 3)} AS p99Ms,
    ${known(first, 1)} AS firstTokenP50Ms, ${known(first, 2)} AS firstTokenP95Ms
  FROM (
    SELECT at, arm, source, status, error_code, sum(answers) AS n, sum(tokens) AS all_tokens, ${sums.map(part).join(", ")},
      quantilesBFloat16MergeState(0.5, 0.95, 0.99)(total_ms) AS total,
      quantilesBFloat16IfMergeState(0.5, 0.95, 0.99)(first_token_ms) AS first_token
    FROM (${answersIn(filter)})
    GROUP BY at, arm, source, status, error_code
  ) AS answer
  GROUP BY GROUPING SETS ((answer.at, answer.arm, answer.source), (answer.arm), (answer.error_code), ())
  ORDER BY level DESC, at, arm, source, answers DESC, code LIMIT ${mostRows}`;
