// How the requests that an example was shown on were rewarded, aggregated by ClickHouse (view
// example_outcomes). Rejects as the port does.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";

export interface ExampleOutcome {
  uses: number;
  outcome: number;
}

/** The `limit` most used examples, by id. */
export async function readExampleOutcomes(
  clickhouse: Pick<ClickHouse, "query">,
  limit: number,
): Promise<Map<string, ExampleOutcome>> {
  const rows = await clickhouse.query<ExampleOutcome & { id: string }>(
    `SELECT example_id AS id, uses, outcome FROM example_outcomes ORDER BY uses DESC, id LIMIT {limit:UInt32}`,
    { limit },
  );
  return new Map(rows.map(({ id, uses, outcome }) => [id, { uses, outcome }]));
}
