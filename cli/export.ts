// precedent export (docs/import.md): what import reads, or files for training; some rows at a time.
import { randomBytes } from "node:crypto";
import { open, rename, rm, type FileHandle } from "node:fs/promises";
import { resolve } from "node:path";
import { Option, type Command } from "commander";
import { readExported, type Exported } from "../analysis/export/read.ts";
import { columnTypes, importRow, redacted, trainingRows, trainings, type Training } from "../analysis/export/rows.ts";
import type { Config } from "../config/schema.ts";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import { writeParquet } from "../stack/convert.ts";
import { CommandError, UsageError, type Io } from "./io.ts";
import { configOf } from "./options.ts";
import { jsonLines, withClickHouse } from "./reading.ts";

interface ExportOptions {
  tenant?: string;
  training?: Training;
  redact?: boolean;
}

export function addExport(program: Command, io: Io): void {
  program
    .command("export")
    .description("write requests with answers, rewards and corrections as import reads them, or for training")
    .argument("<file>", ".jsonl or .parquet")
    .option("-t, --tenant <name>", "of this tenant alone")
    .addOption(
      new Option("--training <format>", "rated answers and corrections, or preferences").choices([...trainings]),
    )
    .option("--redact", "replace personal data by placeholders, and users by pseudonyms")
    .action(async (name: string, options: ExportOptions, command: Command) => {
      const { config } = configOf(command, io, { callsArms: false });
      const done = await withClickHouse(command, io, (clickhouse) =>
        exportLog(clickhouse, resolve(io.cwd, name), options, config, io.signal),
      );
      io.out(`exported ${done} rows\n`);
    });
}

/** Number of rows. The file appears whole or not at all. */
async function exportLog(
  clickhouse: Pick<ClickHouse, "query">,
  file: string,
  { tenant, training, redact }: ExportOptions,
  config: Config,
  signal: AbortSignal,
): Promise<number> {
  const isParquet = file.toLowerCase().endsWith(".parquet");
  if (!isParquet && !/\.(?:jsonl|ndjson)$/i.test(file))
    throw new UsageError(`${file}: its name must end in .jsonl, .ndjson or .parquet`);
  if (training !== undefined && isParquet) throw new UsageError(`--training ${training} is written as .jsonl`);
  // Nothing in such a file says whose texts they are.
  if (training !== undefined && tenant === undefined)
    throw new UsageError(`--training ${training}: --tenant says whose answers may be learnt from`);
  const { ipAddresses } = config.curate.personalData;
  const masking = { key: config.privacy.redact.secret ?? randomBytes(16).toString("hex"), ipAddresses };
  const linesOf = (row: Exported): object[] => {
    const shown = redact === true ? redacted(row, masking) : row;
    return training === undefined
      ? [importRow(shown, isParquet)]
      : trainingRows(shown, training, config.curate.admit.minimumQuality);
  };
  let count = 0;
  const write = async (handle: FileHandle): Promise<void> => {
    for await (const page of readExported(clickhouse, tenant ?? "")) {
      signal.throwIfAborted();
      const lines = page.flatMap(linesOf);
      count += lines.length;
      await handle.appendFile(jsonLines(lines));
    }
    if (count === 0) throw new CommandError("nothing was exported: there is no such row");
  };
  if (isParquet) {
    const columns = Object.entries(columnTypes).map(([name, type]) => `\`${name}\` ${type}`);
    await writeParquet(file, columns.join(", "), signal, write);
    return count;
  }
  const part = `${file}.part`;
  const handle = await open(part, "w");
  try {
    await write(handle);
    await handle.close();
    await rename(part, file);
  } finally {
    await handle.close();
    await rm(part, { force: true });
  }
  return count;
}
