// Files of other systems as rows of the log: in the columns of docs/import.md, in others that
// --columns names, or as a preset maps them. For precedent import and precedent log-replay.
import { membersOf, RowProblem, type Json } from "../analysis/import/foreign.ts";
import { columns, logRowOf, type RowContext } from "../analysis/import/log-row.ts";
import type { ForeignFeedback, Preset } from "../analysis/import/presets/preset.ts";
import { answerCost } from "../arms/cost.ts";
import type { PriceList } from "../config/price-bands.ts";
import type { LogRow } from "../state/log-replay-row.ts";
import { CommandError, UsageError } from "./io.ts";
import { readTable } from "./table-file.ts";

const batch = { rows: 2_000, characters: 8 * 1_048_576 };

/** "request=prompt,answer=completion": our column and the file's. */
export function parseColumns(given: string | undefined): Map<string, string> {
  if (given === undefined) return new Map();
  return new Map(
    given.split(",").map((pair) => {
      const [ours = "", theirs = ""] = pair.split(/=(.*)/s).map((part) => part.trim());
      if (!(columns as readonly string[]).includes(ours) || theirs === "")
        throw new UsageError(
          `--columns ${pair}: COLUMN=NAME IN THE FILE, where COLUMN is one of ${columns.join(", ")}`,
        );
      return [ours, theirs];
    }),
  );
}

export interface FileOptions {
  file: string;
  columns: ReadonlyMap<string, string>;
  preset?: Preset;
  /** For rows that don't say it. */
  costOf: RowContext["costOf"];
  signal: AbortSignal;
  /** A row is left out; message: the reason, with what stands there. */
  onProblem: (reason: string, row: number, message?: string) => void;
  /** Something of a row is not kept. */
  onCut?: ((what: string, row: number) => void) | undefined;
  /** Names that a row has. */
  onColumns?: (names: readonly string[]) => void;
}

/** Feedback is on a request of another file. */
export type FileRow = { row: number } & ({ log: LogRow } | { feedback: ForeignFeedback });

/** In batches. CommandError for a file that can't be read. */
export async function* readLogFile(options: FileOptions): AsyncGenerator<FileRow[]> {
  const { file, signal, onProblem } = options;
  let rows: FileRow[] = [];
  let characters = 0;
  for await (const found of readTable(file, signal)) {
    if ("problem" in found) {
      onProblem(found.problem, found.number);
      continue;
    }
    options.onColumns?.(Object.keys(found.row));
    try {
      const made = fileRow(found.row, options, found.number);
      rows.push({ row: found.number, ...made });
      characters += "log" in made ? made.log.request.messages.reduce((sum, { content }) => sum + content.length, 0) : 0;
    } catch (error) {
      if (!(error instanceof RowProblem)) throw error;
      onProblem(error.reason, found.number, error.message);
    }
    if (rows.length < batch.rows && characters < batch.characters) continue;
    yield rows;
    [rows, characters] = [[], 0];
  }
  if (rows.length > 0) yield rows;
}

function fileRow(row: Json, { columns: named, preset, costOf, onCut }: FileOptions, index: number) {
  const mapped = preset?.(row) ?? { columns: row };
  if ("feedback" in mapped) return mapped;
  const given = {
    ...mapped.columns,
    ...Object.fromEntries([...named].map(([ours, theirs]) => [ours, pick(row, theirs)])),
  };
  return { log: logRowOf(given, { index, costOf, onCut: (what) => onCut?.(what, index) }) };
}

/** At the configured prices of that time. */
export const costsOf =
  (prices: (arm: string) => PriceList | undefined): RowContext["costOf"] =>
  (arm, usage, at) => {
    const list = prices(arm);
    return list === undefined ? 0 : answerCost(usage, list, at);
  };

/** A column by its name, or a member of a nested one: metadata.team, attributes.gen_ai.cost. */
function pick(row: Json, name: string): unknown {
  if (name in row) return row[name];
  const dots = [...name.matchAll(/\./g)].map(({ index }) => index);
  return dots
    .map((at) => (name.slice(0, at) in row ? pick(membersOf(row[name.slice(0, at)]), name.slice(at + 1)) : undefined))
    .find((found) => found !== undefined);
}

/** For precedent log-replay, in texts alone. The first wrong row ends it. */
export async function* readWholeLog(options: Omit<FileOptions, "onProblem">): AsyncGenerator<LogRow[]> {
  const onProblem = (reason: string, row: number, message = reason): never => {
    throw new CommandError(`${options.file}, row ${row}: ${message}`);
  };
  for await (const rows of readLogFile({ ...options, onProblem }))
    yield rows.flatMap((one) =>
      "log" in one ? [{ ...one.log, request: { ...one.log.request, passthrough: null, requires: [] } }] : [],
    );
}
