// What commands share that only read ClickHouse: a client, tables, and words for times.
import type { Command } from "commander";
import Table from "cli-table3";
import { withoutControls } from "../algorithms/text/printable.ts";
import type { Config } from "../config/schema.ts";
import { createClickHouse } from "../connections/clickhouse/client.ts";
import { ClickHouseRejected, type ClickHouse } from "../connections/clickhouse/port.ts";
import { CommandError, type Io } from "./io.ts";
import { runningClickHouse } from "./running-config.ts";

/** Runs with ClickHouse, bound to the configured database; nothing is started. */
export async function withClickHouse<T>(
  command: Command,
  io: Io,
  use: (clickhouse: ClickHouse, config: Config) => Promise<T>,
): Promise<T> {
  const { clickhouse: server, config } = await runningClickHouse(command, io);
  const clickhouse = createClickHouse(server);
  try {
    return await use(clickhouse, config);
  } catch (error) {
    // UNKNOWN_TABLE, UNKNOWN_DATABASE
    if (error instanceof ClickHouseRejected && ["60", "81"].includes(error.code))
      throw new CommandError("nothing is recorded yet: precedent up makes the tables");
    throw error;
  } finally {
    await clickhouse.close();
  }
}

export function oneLine(text: string, most = 60): string {
  const line = withoutControls(text).replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** One JSON object a line. */
export const jsonLines = (rows: readonly unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");

type Cell = string | number;
type Rows = readonly (readonly Cell[])[];

/** isRight: whether a column is on the right; numbers are by default. */
export function tableOf(
  head: readonly string[],
  rows: Rows,
  isRight = (column: number) => rows.length > 0 && rows.every((row) => typeof row[column] === "number"),
): string {
  const table = new Table({
    head: [...head],
    colAligns: head.map((_, column) => (isRight(column) ? "right" : "left")),
    style: { head: [], border: [], compact: true },
  });
  for (const row of rows) table.push(row.map(String));
  return `${table.toString()}\n`;
}

/** 90_000 as "1.5 min"; milliseconds. */
export function ago(milliseconds: number): string {
  const units: [string, number][] = [
    ["d", 86_400_000],
    ["h", 3_600_000],
    ["min", 60_000],
    ["s", 1_000],
  ];
  const [unit, size] = units.find(([, ms]) => milliseconds >= ms) ?? ["s", 1_000];
  return `${(milliseconds / size).toFixed(milliseconds / size < 10 ? 1 : 0)} ${unit}`;
}
