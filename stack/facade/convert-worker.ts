// A process of its own around ClickHouse's reader and writer of Parquet: the memory that it takes
// goes with the process. The file to read is open as descriptor 3.
//   convert-worker.ts read                  Parquet there, lines of JSON to the output
//   convert-worker.ts write FILE COLUMNS    lines of JSON there, Parquet to FILE
import { once } from "node:events";
import { fstatSync } from "node:fs";
import { query, Session } from "chdb";
import { sqlLiteral } from "../../algorithms/text/sql-literal.ts";

const [, , mode = "", to = "", columns = ""] = process.argv;

const gibibyte = 1024 ** 3;
/** A Parquet file of a few kilobytes can unpack to all of the disk. */
const mostBytes = gibibyte / 4 + 100 * fstatSync(3).size;
const mostMemory = 4 * gibibyte;
const bounds = `max_threads = 1, max_memory_usage = ${mostMemory}`;

async function read(): Promise<void> {
  const session = new Session();
  try {
    // Every time in UTC and with its zone, every number as it stands; some rows at a time.
    const chunks = session.queryStream(
      `SELECT * FROM file('/dev/fd/3', 'Parquet', 'auto', 'none')
       SETTINGS date_time_output_format = 'iso', session_timezone = 'UTC', output_format_json_quote_64bit_integers = 0,
       max_block_size = 1000, input_format_parquet_max_block_size = 1000, ${bounds}`,
      { format: "JSONEachRow" },
    );
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.numBytes;
      if (bytes > mostBytes) throw new Error("TOO_MANY_ROWS_OR_BYTES");
      if (!process.stdout.write(chunk.raw())) await once(process.stdout, "drain");
    }
  } finally {
    session.close();
  }
}

const write = (): unknown =>
  query(
    `SELECT * FROM file('/dev/fd/3', 'JSONEachRow', ${sqlLiteral(columns)}, 'none') INTO OUTFILE ${sqlLiteral(to)} FORMAT Parquet
     SETTINGS output_format_parquet_row_group_size = 20000, output_format_parquet_row_group_size_bytes = 67108864, ${bounds}`,
  );

// The reader has ended: so does this.
process.stdout.on("error", () => process.exit(1));
try {
  await (mode === "read" ? read() : write());
} catch (error) {
  const reported = error instanceof Error ? error.message : String(error);
  process.stderr.write(
    /TOO_MANY_ROWS_OR_BYTES|MEMORY_LIMIT_EXCEEDED/.test(reported)
      ? `it unpacks to more than ${Math.round(mostBytes / 1024 ** 2)} MiB, or takes more than ${mostMemory / gibibyte} GiB of memory: convert it to JSONL in pieces\n`
      : `${reported}\n`,
  );
  process.exitCode = 1;
}
