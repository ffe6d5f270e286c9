// A process of its own that reads a file with ClickHouse's readers and writes it as lines of JSON:
// convert-worker.ts FORMAT FROM TO. The memory that it takes goes with the process.
import { rmSync, statSync } from "node:fs";
import { query } from "chdb";

const [, , format = "", from = "", to = ""] = process.argv;
const quote = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`;

const gibibyte = 1024 ** 3;
/** A Parquet file of a few kilobytes can unpack to all of the disk. */
const mostBytes = gibibyte / 4 + 100 * statSync(from).size;
const mostMemory = 4 * gibibyte;

const identifier = (text: string): string => `\`${text.replace(/[\\`]/g, "\\$&")}\``;

/** Texts of a CSV stay texts: 0012 may be an id. */
function structure(): string {
  if (format !== "CSVWithNames") return "";
  const columns = query(`DESCRIBE file(${quote(from)}, ${quote(format)})`, "JSONCompactColumns").toString();
  const [names = []] = JSON.parse(columns) as string[][];
  return `, ${quote(names.map((name) => `${identifier(name)} Nullable(String)`).join(", "))}`;
}

try {
  // Every time in UTC and with its zone, every number as it stands.
  query(
    `SELECT * FROM file(${quote(from)}, ${quote(format)}${structure()}) INTO OUTFILE ${quote(to)} TRUNCATE FORMAT JSONEachRow
     SETTINGS date_time_output_format = 'iso', session_timezone = 'UTC', output_format_json_quote_64bit_integers = 0, max_threads = 1,
     max_result_bytes = ${mostBytes}, result_overflow_mode = 'throw', max_memory_usage = ${mostMemory}`,
  );
} catch (error) {
  rmSync(to, { force: true });
  const reported = error instanceof Error ? error.message : String(error);
  process.stderr.write(
    /TOO_MANY_ROWS_OR_BYTES|MEMORY_LIMIT_EXCEEDED/.test(reported)
      ? `it unpacks to more than ${Math.round(mostBytes / 1024 ** 2)} MiB, or takes more than ${mostMemory / gibibyte} GiB of memory: convert it to JSONL in pieces\n`
      : `${reported}\n`,
  );
  process.exitCode = 1;
}
