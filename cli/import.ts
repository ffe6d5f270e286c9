// precedent import (docs/import.md): another system's log into ClickHouse. Repeated or killed, it
// resumes and adds nothing twice.
import { resolve } from "node:path";
import type { Command } from "commander";
import { openSession, type Session } from "../pipelines/session.ts";
import type { Embedder } from "../connections/embedder/port.ts";
import { createOnnxEmbedder } from "../connections/embedder/onnx.ts";
import type { RouteArm } from "../arms/routed.ts";
import { createLog } from "../runtime/log.ts";
import { sha256 } from "../connections/python/python.ts";
import { createLogImport, importOrigin, type ImportedRows } from "../analysis/import/import-log.ts";
import type { LogRow } from "../state/log-replay-row.ts";
import { presets } from "./import-presets.ts";
import { CommandError, UsageError, type Io } from "./io.ts";
import { embedderOptions } from "./embedder-options.ts";
import { configOf } from "./options.ts";
import { parseColumns, readLogFile } from "./log-replay-file.ts";

export interface ImportOptions {
  columns?: string;
  arms?: string;
  preset?: string;
}

export function addImport(program: Command, io: Io): void {
  program
    .command("import")
    .description("bring the log of another system: requests, arms, answers and rewards, for learn to begin with")
    .argument("<file>", ".jsonl, .csv (with a header) or .parquet (docs/import.md)")
    .option("--columns <pairs>", "columns of the file by ours: request=prompt,answer=completion,time=when")
    .option("--arms <pairs>", "arms of the file by ours: large=gpt-4o,small=gpt-4o-mini")
    .option("--preset <name>", `an export of ${Object.keys(presets).join(" or ")}, as JSONL`)
    .action(async (name: string, options: ImportOptions, command: Command) => {
      const { config } = configOf(command, io);
      const log = createLog({ level: "warn" });
      const session = await openSession(config, { log });
      try {
        const embedder = await createOnnxEmbedder({ ...embedderOptions(config, io), log });
        try {
          const file = resolve(io.cwd, name);
          const onProgress = (rows: number): void => io.note(`${rows} rows\n`);
          const done = await importLog({ session, embedder, file, options, signal: io.signal, onProgress });
          io.out(
            `imported ${done.requests} requests, ${done.answers} answers, ${done.rewards} rewards` +
              `${done.skipped > 0 ? `; ${done.skipped} rows were there already` : ""}\n`,
          );
        } finally {
          await embedder.close();
        }
      } finally {
        await session.close();
      }
    });
}

export interface LogImport {
  session: Pick<Session, "clickhouse" | "config" | "topic" | "arms">;
  embedder: Pick<Embedder, "embedAll">;
  file: string;
  options?: ImportOptions;
  signal?: AbortSignal;
  onProgress?: (rows: number) => void;
}

/** Before this no log of a language model was written: the row had no time. */
const earliest = Date.UTC(2000, 0, 1);

/** Rejects with file and row on the first that can't be used; what was before it is imported. */
export async function importLog({
  session,
  embedder,
  file,
  options = {},
  signal = new AbortController().signal,
  onProgress,
}: LogImport): Promise<ImportedRows & { skipped: number }> {
  const { clickhouse, config, arms } = session;
  const preset = options.preset === undefined ? undefined : presets[options.preset];
  if (options.preset !== undefined && preset === undefined)
    throw new UsageError(`--preset ${options.preset}: there are ${Object.keys(presets).join(", ")}`);
  const rows = readLogFile({
    ...{
      file,
      columns: options.columns === undefined ? new Map<string, string>() : parseColumns(options.columns),
      signal,
    },
    ...(preset && { preset }),
    folder: resolve(config.stack.folder, "imports"),
  });
  const named = armNames(options.arms, arms.routed());
  const done = { requests: 0, answers: 0, rewards: 0, skipped: 0 };
  let work: { importRows: ReturnType<typeof createLogImport>; stored: number } | undefined;
  let index = 0;
  for await (const some of rows) {
    signal.throwIfAborted();
    work ??= await begin();
    const checked = some.map((row) => checkedRow(row, named));
    const left = checked.slice(Math.max(0, work.stored - index));
    done.skipped += checked.length - left.length;
    if (left.length > 0) {
      const made = await work.importRows(left, index + checked.length - left.length);
      done.requests += made.requests;
      done.answers += made.answers;
      done.rewards += made.rewards;
    }
    index += checked.length;
    onProgress?.(index);
  }
  if (index === 0) throw new CommandError(`${file}: it holds no request`);
  return done;

  async function begin() {
    const id = Buffer.from(await sha256(file), "hex")
      .toString("base64url")
      .slice(0, 22);
    const [row] = await clickhouse.query<{ stored: number | string }>(
      "SELECT max(kafka_offset) + 1 AS stored, count() AS n FROM request_arrivals WHERE kafka_origin = {origin:String} HAVING n > 0",
      { origin: importOrigin(id) },
    );
    const feedbackTopic = session.topic("feedback" as never);
    const { priorMean } = config.routing;
    const importRows = createLogImport({
      clickhouse,
      embedder,
      arms: arms.routed(),
      feedbackTopic,
      file: id,
      priorMean,
    });
    return { importRows, stored: Number(row?.stored ?? 0) };
  }
}

/** Our arms by what the log calls them: their names, their models, and what --arms says. */
function armNames(given: string | undefined, arms: readonly RouteArm[]): ReadonlyMap<string, RouteArm> {
  const usable = arms.filter(({ reuse }) => reuse === undefined);
  const byName = new Map([
    ...usable.map((arm) => [arm.model, arm] as const),
    ...usable.map((arm) => [arm.name, arm] as const),
  ]);
  for (const pair of given?.split(",") ?? []) {
    const [ours = "", theirs = ""] = pair.split(/=(.*)/s).map((part) => part.trim());
    const arm = usable.find(({ name }) => name === ours);
    if (arm === undefined || theirs === "")
      throw new UsageError(
        `--arms ${pair}: ARM=NAME IN THE FILE, where ARM is one of ${usable.map(({ name }) => name).join(", ")}`,
      );
    byName.set(theirs, arm);
  }
  return byName;
}

/** The answer counts as our arm's and its model's: rewards train the estimate of that arm. */
function checkedRow({ answer, ...row }: LogRow, named: ReadonlyMap<string, RouteArm>): LogRow {
  const { id, createdAt } = row.request;
  if (createdAt < earliest)
    throw new CommandError(
      `request ${id} has no time: learning and retention go by it; --columns time=NAME says which column holds it`,
    );
  if (answer === null) return { ...row, answer };
  const arm = named.get(answer.arm);
  if (arm === undefined)
    throw new CommandError(
      `request ${id}: no arm is called ${answer.arm}; --arms ARM=${answer.arm} says which one it is`,
    );
  return { ...row, answer: { ...answer, arm: arm.name, model: arm.model } };
}
