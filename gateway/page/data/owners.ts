// Answers in a period by tenant, domain or key: which of them cause cost and failures.
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import { answersIn, dayMs, parametersOf, timesOf } from "./answers.ts";
import type { OwnerFilter } from "./filters.ts";

const ownerColumns = { tenant: "tenant", domain: "domain", key: "account" } as const;

export interface OwnerRow {
  /** "": answers without one. */
  name: string;
  answers: number;
  failed: number;
  cost: number;
  p95Ms: number | null;
}

export interface OwnerList {
  /** The most expensive first. */
  rows: OwnerRow[];
  /** Number of all owners. */
  found: number;
}

const mostShown = 50;

export async function readOwners(
  clickhouse: Pick<ClickHouse, "query">,
  { by, ...filter }: OwnerFilter,
): Promise<OwnerList> {
  const column = ownerColumns[by];
  const rows = await clickhouse.query<OwnerRow & { found: number }>(
    `SELECT ${column} AS name, sum(answer.answers) AS answers, sumIf(answer.answers, answer.status != 'ok') AS failed, sum(answer.cost) AS cost,
       quantilesBFloat16Merge(0.5, 0.95, 0.99)(answer.total_ms)[2] AS p95, if(isNaN(p95), NULL, p95) AS p95Ms, count() OVER () AS found
     FROM (${answersIn(filter)}) AS answer GROUP BY name ORDER BY cost DESC, answers DESC, name LIMIT ${mostShown}`,
    { ...parametersOf(filter), ...timesOf(filter, dayMs) },
  );
  return {
    rows: rows.map(({ name, answers, failed, cost, p95Ms }) => ({ name, answers, failed, cost, p95Ms })),
    found: rows[0]?.found ?? 0,
  };
}
