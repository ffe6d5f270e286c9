// A process of its own that reads a file with ClickHouse's readers and writes it as lines of JSON:
// convert-worker.ts FORMAT FROM TO. The memory that it takes goes with the process.
import { query } from "chdb";

const [, , format = "", from = "", to = ""] = process.argv;
const quote = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`;

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
     SETTINGS date_time_output_format = 'iso', session_timezone = 'UTC', output_format_json_quote_64bit_integers = 0, max_threads = 1`,
  );
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
