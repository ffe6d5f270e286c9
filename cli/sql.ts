// precedent sql "…": a reading query in ClickHouse, while everything runs.
import type { Command } from "commander";
import { rawItems } from "../algorithms/text/exact-json.ts";
import { withoutControls } from "../algorithms/text/printable.ts";
import { readOnlyQuery, type ConsoleTarget } from "../connections/clickhouse/console.ts";
import { curlLine } from "./curl.ts";
import { CommandError, type Io } from "./io.ts";
import { tableOf } from "./reading.ts";
import { runningClickHouse } from "./running-config.ts";

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
    .option(
      "-f, --format <name>",
      "table, json, or any output format of ClickHouse (CSV, Vertical, ...); FORMAT in the query goes first",
      "table",
    )
    .option("--curl", "print the curl line that asks the embedded ClickHouse instead")
    .action(async (query: string, { format, curl }: Options, command: Command) => {
      const { clickhouse, stack } = await runningClickHouse(command, io);
      if (curl === true) {
        if (stack === undefined || clickhouse.url !== stack.clickhouse.url)
          throw new CommandError(`--curl is for the embedded ClickHouse; here it is ${clickhouse.url}`);
        io.out(`${curlLine(stack.folder, query, clickhouse.database)}\n`);
        return;
      }
      if (format === "table") {
        const { table, rest } = await queryTable(clickhouse, query, io.signal);
        if (rest === undefined) io.out(table);
        else for await (const chunk of rest) await io.data(chunk);
        return;
      }
      const settings = format === "json" ? notNull : {};
      const wanted = format === "json" ? "JSONEachRow" : format;
      const { bytes } = await readOnlyQuery(clickhouse, query, wanted, io.signal, settings);
      for await (const chunk of bytes) await io.data(chunk);
    });
}

/** Every number with all its digits; null is neither an empty text nor "nan" or "inf". */
const tableFormat = "JSONCompactEachRowWithNamesAndTypes";
const notNull = { output_format_json_quote_denormals: "1" };
const asNumbers = { output_format_json_quote_64bit_integers: "0", output_format_json_quote_decimals: "0" };

/** The result as a table; `rest`: instead of it, the output in the statement's own FORMAT. */
export async function queryTable(
  target: ConsoleTarget,
  query: string,
  signal: AbortSignal,
): Promise<{ table: string; rest?: AsyncIterable<Uint8Array> }> {
  const settings = { ...notNull, ...asNumbers };
  const { format, bytes } = await readOnlyQuery(target, query, tableFormat, signal, settings);
  if (format !== tableFormat || namesTableFormat.test(query)) return { table: "", rest: bytes };
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return { table: renderTable(Buffer.concat(chunks).toString("utf8")) };
}
const namesTableFormat = new RegExp(`format\\s+${tableFormat}`, "i");

const isNumber = /^(?:Nullable\(|LowCardinality\()*(?:U?Int|B?Float|Decimal)/;

/** Lines of tableFormat as a table, cells cut at `widest`. */
export function renderTable(text: string, widest = 100): string {
  const [names = "[]", types = "[]", ...rows] = text.split("\n").filter((line) => line !== "");
  const cells = (row: string): string[] => rawItems(row).map((value) => cell(value, widest));
  const numeric = rawItems(types).map((type) => isNumber.test(JSON.parse(type) as string));
  const table = tableOf(cells(names), rows.map(cells), (column) => numeric[column] === true);
  return `${table}${rows.length} ${rows.length === 1 ? "row" : "rows"}\n`;
}

/** A JSON value on one line: a prompt must not break the table. NULL as ClickHouse prints it. */
function cell(value: string, widest: number): string {
  const text = value === "null" ? "ᴺᵁᴸᴸ" : value.startsWith('"') ? (JSON.parse(value) as string) : value;
  const line = withoutControls(text.replace(/\s+/g, " "));
  return line.length > widest ? `${line.slice(0, widest - 1).replace(/[\ud800-\udbff]$/, "")}…` : line;
}
