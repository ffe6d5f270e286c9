// How many rows tables have, in one statement that reads no row of them: whoever looks for news
// every other second asks this first, since looking costs ten times as much. Rejects as the
// ClickHouse port does.
import type { ClickHouse } from "../connections/clickhouse/port.ts";

/**
 * Different from the counts before when rows have come, but for one chance: rows that merging has
 * just taken away may be as many. So whoever skips a look for them looks now and then anyway
 * (lookAnywayMs).
 */
export type RowCounts<Table extends string> = () => Promise<Readonly<Record<Table, number>>>;

export const lookAnywayMs = 30_000;

export function createRowCounts<Table extends string>(
  clickhouse: Pick<ClickHouse, "query">,
  tables: readonly Table[],
): RowCounts<Table> {
  const sql = `SELECT ${tables.map((table) => `(SELECT count() FROM ${table}) AS ${table}`).join(", ")}`;
  return async () => {
    const [row] = await clickhouse.query<Record<Table, number>>(sql);
    if (row === undefined) throw new Error(`ClickHouse gave no row for "${sql}"`);
    return row;
  };
}
