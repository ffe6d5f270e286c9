// A query as its reader would type it: the SQL, then its result. Rows come through record, so
// queries wait for what they are about.
import { setTimeout as sleep } from "node:timers/promises";
import pc from "picocolors";
import { queryTable } from "../../cli/sql.ts";
import type { SceneContext } from "./scene.ts";

/** The statement is printed and run as it stands. */
export async function showQuery({ screen, session, signal }: SceneContext, title: string, sql: string): Promise<void> {
  const lines = sql.trim().split("\n");
  screen.line(title);
  screen.line();
  for (const line of lines) screen.line(`  ${pc.cyan(line)}`);
  screen.line();
  const { table } = await queryTable(session.connections.clickhouse, sql, signal);
  for (const line of table.trimEnd().split("\n")) screen.line(`  ${line}`);
  screen.line();
}

/** Waits until the query gives a number of at least `wanted`; false when it does not in time. */
export async function untilCount(
  { session, signal }: SceneContext,
  wanted: number,
  sql: string,
  withinMs = 15_000,
): Promise<boolean> {
  for (const end = Date.now() + withinMs; Date.now() < end; await sleep(100, undefined, { signal })) {
    const [row] = await session.clickhouse.query<{ count: string | number }>(sql);
    if (Number(row?.count ?? 0) >= wanted) return true;
  }
  return false;
}
