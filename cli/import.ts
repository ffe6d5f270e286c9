// precedent import (docs/import.md): another system's log into ClickHouse. Repeated or killed, it
// resumes and adds nothing twice.
import { resolve } from "node:path";
import type { Command } from "commander";
import { openEmbedder } from "../pipelines/embedder.ts";
import type { Session } from "../pipelines/session.ts";
import type { Embedder } from "../connections/embedder/port.ts";
import type { RouteArm } from "../arms/routed.ts";
import { createLog } from "../runtime/log.ts";
import { sha256 } from "../connections/python/python.ts";
import { hash } from "node:crypto";
import { added, createLogImport, type ImportedRows, type ImportRow } from "../analysis/import/import-log.ts";
import type { ForeignFeedback, Preset } from "../analysis/import/presets/preset.ts";
import { presets } from "../analysis/import/presets/presets.ts";
import type { LogRow } from "../state/log-replay-row.ts";
import { CommandError, UsageError, type Io } from "./io.ts";
import { embedderOptions } from "./embedder-options.ts";
import { createLeftOut, type LeftOut } from "./left-out.ts";
import { costsOf, parseColumns, readLogFile } from "./log-replay-file.ts";
import { runningConfig } from "./running-config.ts";
import { tableKind } from "./table-file.ts";
import { openRunning } from "./with-session.ts";

export interface ImportOptions {
  columns?: string;
  arms?: string;
  preset?: string;
}

export function addImport(program: Command, io: Io): void {
  program
    .command("import")
    .description("bring the log of another system: requests, arms, answers and rewards, for learn to begin with")
    .argument("<file>", ".jsonl, .json, .csv (with a header) or .parquet, also .gz and .zst (docs/import.md)")
    .option("--columns <pairs>", "columns of the file by ours: request=prompt,answer=completion,time=when")
    .option("--arms <pairs>", "arms of the file by ours: large=gpt-4o,small=gpt-4o-mini")
    .option("--preset <name>", `an export of ${Object.keys(presets).join(", ")}`)
    .action(async (name: string, options: ImportOptions, command: Command) => {
      const file = resolve(io.cwd, name);
      // Said before a stack is started for it.
      await tableKind(file);
      readingOf(options);
      const config = runningConfig(command, io);
      const log = createLog({ level: "warn" });
      const session = await openRunning(config, io, { start: true, level: "warn" });
      try {
        const embedder = await openEmbedder(config, { ...embedderOptions(config, io), log });
        try {
          const onProgress = (rows: number): void => io.note(`${rows} rows\n`);
          const done = await importLog({ session, embedder, file, options, signal: io.signal, onProgress });
          report(done, io);
        } finally {
          await embedder.close();
        }
      } finally {
        await session.close();
      }
    });
}

function report(
  { requests, answers, rewards, corrections, known, leftOut, cut, expired, columns }: Imported,
  io: Io,
): void {
  if (leftOut.count > 0) io.note(`left out ${leftOut.count} rows:\n${leftOut.describe().join("\n")}\n`);
  if (cut.count > 0) io.note(`not kept of ${cut.count} rows:\n${cut.describe().join("\n")}\n`);
  if (expired > 0) io.note(`${expired} requests are older than clickhouse.ttlDays: ClickHouse drops them again\n`);
  if (requests + rewards + corrections + known === 0)
    throw new CommandError(
      columns.length === 0
        ? `nothing was imported: the file holds no ${leftOut.count > 0 ? "usable " : ""}rows`
        : `nothing was imported; columns of the file: ${columns.slice(0, 40).join(", ")} (--columns, --preset)`,
    );
  io.out(
    `imported ${requests} requests, ${answers} answers, ${rewards} rewards` +
      (corrections > 0 ? `, ${corrections} corrections` : "") +
      `${known > 0 ? `; ${known} rows were there already` : ""}\n`,
  );
}

export interface LogImport {
  session: Pick<Session, "clickhouse" | "config" | "topic" | "arms">;
  embedder: Pick<Embedder, "embedAll">;
  file: string;
  options?: ImportOptions;
  signal?: AbortSignal;
  onProgress?: (rows: number) => void;
}
export interface Imported extends ImportedRows {
  leftOut: LeftOut;
  /** What is not kept of rows. */
  cut: LeftOut;
  /** Requests that are too old to stay. */
  expired: number;
  /** Names that the file's first row has. */
  columns: readonly string[];
}

/** Before this no log of a language model was written: the row had no time. */
const earliest = Date.UTC(2000, 0, 1);
const dayMs = 86_400_000;

/** Rows that can't be used are left out and counted. Rejects for a file that can't be read. */
export async function importLog({
  session,
  embedder,
  file,
  options = {},
  signal = new AbortController().signal,
  onProgress,
}: LogImport): Promise<Imported> {
  const { clickhouse, config, arms } = session;
  const { preset, columns: given } = readingOf(options);
  const named = armNames(options.arms, arms.routed());
  const leftOut = createLeftOut();
  const cut = createLeftOut();
  const onProblem = leftOut.add;
  let done: ImportedRows = { requests: 0, answers: 0, rewards: 0, corrections: 0, known: 0 };
  let [read, expired] = [0, 0];
  const since = config.clickhouse.ttlDays === 0 ? 0 : Date.now() - config.clickhouse.ttlDays * dayMs;
  let importRows: ReturnType<typeof createLogImport> | undefined;
  let columns: readonly string[] = [];
  const onColumns = (names: readonly string[]): void => {
    if (columns.length === 0) columns = names;
  };
  for await (const some of readLogFile({
    ...{ file, columns: given, signal, onProblem, onCut: cut.add, onColumns },
    costOf: costsOf((arm) => named.get(arm)?.prices),
    ...(preset && { preset }),
  })) {
    signal.throwIfAborted();
    importRows ??= await begin();
    const rows = some.flatMap((one): ImportRow[] => {
      if ("feedback" in one) return [{ ...one, feedback: timed(one.feedback) }];
      const log = usable(one.log, named);
      if (typeof log !== "string") return [{ row: one.row, log }];
      onProblem(log, one.row);
      return [];
    });
    expired += rows.filter((one) => "log" in one && one.log.request.createdAt < since).length;
    done = added(done, await importRows(rows));
    read += some.length;
    onProgress?.(read);
  }
  return { ...done, leftOut, cut, expired, columns };

  async function begin(): Promise<ReturnType<typeof createLogImport>> {
    // Read otherwise, rows that were left out are new: learn then takes the file as another one.
    const reading = JSON.stringify([
      options.preset ?? "",
      [...given],
      [...named].map(([name, arm]) => [name, arm.name]),
    ]);
    const id = Buffer.from(hash("sha256", (await sha256(file)) + reading), "hex").toString("base64url");
    const { clickhouse: inClickHouse, secret } = config.privacy.redact;
    return createLogImport({
      ...{ clickhouse, embedder, arms: arms.routed(), file: id.slice(0, 22) },
      ...{ feedbackTopic: session.topic("feedback" as never), onProblem },
      redact:
        inClickHouse && secret !== undefined
          ? { key: secret, ipAddresses: config.curate.personalData.ipAddresses }
          : undefined,
    });
  }
}

/** UsageError where there is no such preset, or a column has no pair. */
function readingOf(options: ImportOptions): { preset?: Preset; columns: ReadonlyMap<string, string> } {
  const columns = parseColumns(options.columns);
  if (options.preset === undefined) return { columns };
  const preset = Object.hasOwn(presets, options.preset) ? presets[options.preset] : undefined;
  if (preset === undefined)
    throw new UsageError(`--preset ${options.preset}: there are ${Object.keys(presets).join(", ")}`);
  return { preset, columns };
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

/** Where its time can't be right, it is given at the time of its request. */
const timed = (feedback: ForeignFeedback): ForeignFeedback =>
  (feedback.createdAt ?? 0) >= earliest && feedback.createdAt! <= Date.now() + dayMs
    ? feedback
    : { ...feedback, createdAt: null };

/** The answer counts as our arm's and its model's. A text: why the row is left out. */
function usable({ answer, ...row }: LogRow, named: ReadonlyMap<string, RouteArm>): LogRow | string {
  // Rewards are weighted back from the newest: one of next year would make all others worthless.
  if (row.request.createdAt > Date.now() + dayMs) return "time: it lies in the future; is it of another zone, or unit?";
  if (row.request.createdAt < earliest)
    return "it has no time: learning and retention go by it; --columns time=NAME says which column holds it";
  if (answer === null) return { ...row, answer };
  const arm = named.get(answer.arm);
  if (arm === undefined) return `no arm is called ${answer.arm}; --arms ARM=${answer.arm} says which one it is`;
  return { ...row, answer: { ...answer, arm: arm.name, model: arm.model } };
}
