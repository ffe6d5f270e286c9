// precedent sql "…": a reading query in ClickHouse, while everything runs.
import type { Command } from "commander";
import Table from "cli-table3";
import { withoutControls } from "../algorithms/text/printable.ts";
import { readOnlyQuery } from "../connections/clickhouse/console.ts";
import { resolveConnections } from "../stack/resolve.ts";
import { curlLine } from "./curl.ts";
import { CommandError, type Io } from "./io.ts";
import { configOf } from "./options.ts";

interface Options {
  format: string;
  curl?: boolean;
}

export function addSql(program: Command, io: Io): void {
  program
    .command("sql")
    .description(
      "run a reading query in ClickHouse (requests, decisions, responses, the views outcomes and savings, ...)",
    )
    .argument("<query>", "one statement that only reads")
    .option("-f, --format <name>", "table, json, or any output format of ClickHouse (CSV, Vertical, ...)", "table")
    .option("--curl", "print the curl line that asks the embedded ClickHouse instead")
    .action(async (query: string, { format, curl }: Options, command: Command) => {
      const { clickhouse, stack } = await resolveConnections(configOf(command, io).config, { start: false });
      if (curl === true) {
        if (stack === undefined || clickhouse.url !== stack.clickhouse.url)
          throw new CommandError(`--curl is for the embedded ClickHouse; here it is ${clickhouse.url}`);
        io.out(`${curlLine(stack.folder, query, clickhouse.database)}\n`);
        return;
      }
      const wanted = { table: "JSONCompact", json: "JSONEachRow" }[format] ?? format;
      const stream = await readOnlyQuery(clickhouse, query, wanted, io.signal);
      if (format === "table") {
        const chunks: Uint8Array[] = [];
        for await (const chunk of stream) chunks.push(chunk);
        io.out(renderTable(Buffer.concat(chunks).toString("utf8")));
      } else {
        const decoder = new TextDecoder();
        for await (const chunk of stream) io.data(decoder.decode(chunk, { stream: true }));
      }
    });
}

interface Compact {
  meta: { name: string; type: string }[];
  data: unknown[][];
}

/** ClickHouse's JSONCompact as a table, cells cut at `widest`; other text unchanged. */
export function renderTable(text: string, widest = 100): string {
  const result = parseCompact(text);
  if (result === null) return text;
  const table = new Table({
    head: result.meta.map(({ name }) => name),
    colAligns: result.meta.map(({ type }) => (/Int|Float|Decimal/.test(type) ? "right" : "left")),
    style: { head: [], border: [], compact: true },
  });
  for (const row of result.data) table.push(row.map((value) => cell(value, widest)));
  const count = result.data.length;
  return `${table.toString()}\n${count} ${count === 1 ? "row" : "rows"}\n`;
}

function parseCompact(text: string): Compact | null {
  try {
    const value = JSON.parse(text) as Partial<Compact> | null;
    return Array.isArray(value?.meta) && Array.isArray(value.data) ? (value as Compact) : null;
  } catch {
    return null;
  }
}

/** One line: a prompt must not break the table. */
function cell(value: unknown, widest: number): string {
  const text = value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
  const line = withoutControls(text.replace(/\s+/g, " "));
  return line.length > widest ? `${line.slice(0, widest - 1)}…` : line;
}
