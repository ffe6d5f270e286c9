// Texts of examples by id: from the sample data, else from ClickHouse (what was admitted while the
// system ran).
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Known } from "./describe.ts";
import type { SampleData } from "./sample-data.ts";

export function createExampleTexts(clickhouse: ClickHouse, { pairById }: SampleData) {
  return async function texts(ids: readonly string[]): Promise<ReadonlyMap<string, Known>> {
    const found = new Map<string, Known>();
    const missing: string[] = [];
    for (const id of ids) {
      const pair = pairById.get(id);
      if (pair === undefined) missing.push(id);
      else found.set(id, pair);
    }
    if (missing.length === 0) return found;
    const rows = await clickhouse.query<Known & { id: string }>(
      "SELECT example_id AS id, request, response FROM examples FINAL WHERE example_id IN {ids:Array(String)}",
      { ids: missing },
    );
    for (const row of rows) found.set(row.id, row);
    return found;
  };
}
