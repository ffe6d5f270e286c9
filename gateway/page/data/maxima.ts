// Finds the first rows of a list by cost or by time without reading a month of answers: the maxima
// of whole hours (schemas/clickhouse/0012) say from which value and hour on enough rows exist.
import { conditionsOf, second } from "./answers.ts";
import type { RequestFilter } from "./filters.ts";

const maxima = { cost: ["cost", "most_cost"], latency: ["total_ms", "most_ms"] } as const;

/** Filters that the table of hours does not know. */
const unknown = ["search", "answer", "user", "session", "tag", "minCost", "minMs", "maxReward"] as const;

export interface Bound {
  /** Declares `bound`: the value and hour that `rows` rows are not below; -inf: fewer exist. */
  with: string;
  /** The rows of responses that are not below it. */
  condition: string;
}

/**
 * Null: the list is sorted or filtered by something else. Each group of the table has a row as
 * large as its maximum, so that the last of the `rows` largest groups bounds the first `rows` rows
 * of the list. Forgotten answers stay in the maxima: fewer rows may be found than exist.
 * `others`: conditions on source, status and error code.
 */
export function boundOf(filter: RequestFilter, others: string): Bound | null {
  const { sort = "time" } = filter;
  if ((sort !== "cost" && sort !== "latency") || filter.state === "open") return null;
  if (unknown.some((name) => (filter[name] ?? "") !== "")) return null;
  const [column, most] = maxima[sort];
  const groups = `answer_hours WHERE hour >= ${second("hoursFrom")} AND hour < ${second("hoursUntil")}${conditionsOf(filter)}${others}`;
  const largest = `SELECT max(${most}) AS value, hour FROM ${groups}
    GROUP BY hour, tenant, domain, account, arm, source, status, error_code ORDER BY value DESC, hour DESC LIMIT {rows:UInt32}`;
  const hours = `SELECT hour FROM ${groups} GROUP BY hour HAVING (max(${most}), hour) >= bound`;
  return {
    with: `WITH (SELECT if(count() < {rows:UInt32}, (-inf, toDateTime(0, 'UTC')), min((value, hour))) FROM (${largest})) AS bound`,
    condition: ` AND (${column} > bound.1 OR ${column} = bound.1 AND created_at >= bound.2)
      AND (created_at < ${second("hoursFrom")} OR created_at >= ${second("hoursUntil")} OR toStartOfHour(created_at) GLOBAL IN (${hours}))`,
  };
}
