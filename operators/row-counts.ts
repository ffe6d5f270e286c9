// Whether tables have got rows: one cheap statement before loops look.
import type { ClickHouse } from "../connections/clickhouse/port.ts";

/**
 * A number a table that changes with its rows: newest version where rows replace each other, else
 * the count. Counts can repeat as rows expire, so loops look anyway every lookAnywayMs.
 */
export type RowCounts<Table extends string> = () => Promise<Readonly<Record<Table, number>>>;

export const lookAnywayMs = 30_000;

/** versions: the column of the version, of tables whose rows replace each other. */
export function createRowCounts<Table extends string>(
  clickhouse: Pick<ClickHouse, "query">,
  tables: readonly Table[],
  versions?: Readonly<Partial<Record<Table, string>>>,
): RowCounts<Table> {
  const measure = (table: Table): string => (versions?.[table] === undefined ? "count()" : `max(${versions[table]})`);
  const sql = `SELECT ${tables.map((table) => `(SELECT ${measure(table)} FROM ${table}) AS ${table}`).join(", ")}`;
  return async () => {
    const [row] = await clickhouse.query<Record<Table, number>>(sql);
    if (row === undefined) throw new Error(`ClickHouse gave no row for "${sql}"`);
    return row;
  };
}
