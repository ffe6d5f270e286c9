// Logs of other systems for precedent log-replay run: JSONL, CSV with a header, or Parquet, in the
// columns of docs/replay.md or in others that --columns names.
import { stat } from "node:fs/promises";
import { basename, extname, join } from "node:path";
import { z } from "zod";
import { linesOf } from "../connections/lines.ts";
import { nameProblem } from "../algorithms/identity/names.ts";
import { plainRequest } from "../schemas/plain-request.ts";
import type { LogRow } from "../state/log-replay-row.ts";
import { convertFile, type FileFormat } from "../stack/convert.ts";
import { CommandError, UsageError } from "./io.ts";

const formats: Readonly<Record<string, FileFormat | "JSONL">> = {
  ...{ ".jsonl": "JSONL", ".ndjson": "JSONL", ".csv": "CSVWithNames", ".parquet": "Parquet" },
};
const batch = { rows: 2_000, characters: 8 * 1_048_576 };

const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
/** CSV knows no numbers, and an empty cell is none. */
const number = z.preprocess(
  (value) => (typeof value === "string" && value.trim() !== "" ? Number(value) : value === "" ? null : value),
  z.number().nullish(),
);
const count = number.pipe(z.number().int().min(0).nullish());
const share = number.pipe(z.number().min(0).max(1).nullish());
const outcome = z.preprocess((value) => {
  const reported = typeof value === "string" ? value.trim().toLowerCase() : value;
  if (reported === true || reported === "true") return 1;
  if (reported === false || reported === "false") return 0;
  return value;
}, share);
const message = z.object({ role: z.enum(["system", "user", "assistant", "tool"]), content: z.string() });
const messages = z.preprocess((value) => {
  if (typeof value !== "string" || value.trim() === "") return value === "" ? null : value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value; // the schema reports it
  }
}, z.array(message).min(1).nullish());

const rowSchema = z.object({
  id: text.nullish(),
  time: z.union([z.string(), z.number()]).nullish(),
  tenant: text.nullish(),
  domain: text.nullish(),
  request: text.nullish(),
  messages,
  arm: text.nullish(),
  model: text.nullish(),
  answer: text.nullish(),
  reward: share,
  outcome,
  propensity: share,
  prompt_tokens: count,
  completion_tokens: count,
  cost: number.pipe(z.number().min(0).nullish()),
  first_token_ms: number.pipe(z.number().min(0).nullish()),
  total_ms: number.pipe(z.number().min(0).nullish()),
  max_tokens: count,
  temperature: number,
});
const columns = Object.keys(rowSchema.shape);

/** "request=prompt,answer=completion": our column and the file's. */
export function parseColumns(given: string): Map<string, string> {
  return new Map(
    given.split(",").map((pair) => {
      const [ours = "", theirs = ""] = pair.split(/=(.*)/s);
      if (!columns.includes(ours.trim()) || theirs.trim() === "")
        throw new UsageError(
          `--columns ${pair}: COLUMN=NAME IN THE FILE, where COLUMN is one of ${columns.join(", ")}`,
        );
      return [ours.trim(), theirs.trim()];
    }),
  );
}

/**
 * Milliseconds since the epoch of a time (without zone: UTC) or a count of s, ms, µs; NaN: none.
 */
export function timeOf(value: string | number): number {
  const reported = typeof value === "string" ? value.trim() : value;
  const count =
    typeof reported === "number" ? reported : /^\d{9,17}(?:\.\d+)?$/.test(reported) ? Number(reported) : undefined;
  if (count !== undefined) return Math.round(count < 1e11 ? count * 1_000 : count < 1e14 ? count : count / 1_000);
  const [, day, clock = "00:00:00", zone = "Z"] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?))?\s*(Z|[+-]\d\d:?\d\d)?$/.exec(String(reported)) ??
    [];
  if (day === undefined) return Number.NaN;
  const offset = zone === "Z" || zone.includes(":") ? zone : `${zone.slice(0, 3)}:${zone.slice(3)}`;
  return Date.parse(`${day}T${clock.replace(/(\.\d{3})\d+$/, "$1")}${offset}`);
}

export interface FileOptions {
  file: string;
  columns: ReadonlyMap<string, string>;
  /** Maps a row of an export to our columns; null: the row is no request. */
  preset?: (row: Record<string, unknown>) => Record<string, unknown> | null;
  /** Where what is converted may lie meanwhile. */
  folder: string;
  signal: AbortSignal;
}

/** Rejects with file and row on the first one that can't be a request. */
export async function* readLogFile({
  file,
  columns: named,
  preset,
  folder,
  signal,
}: FileOptions): AsyncGenerator<LogRow[]> {
  const format = formats[extname(file).toLowerCase()];
  if (format === undefined)
    throw new UsageError(`--file ${file}: its name must end in ${Object.keys(formats).join(", ")}`);
  if (
    !(await stat(file).then(
      (found) => found.isFile(),
      () => false,
    ))
  )
    throw new CommandError(`${file}: there is no such file`);
  const lines = format === "JSONL" ? file : join(folder, "log.jsonl");
  if (format !== "JSONL") await convertFile(format, file, lines, signal);
  let rows: LogRow[] = [];
  let [index, characters] = [0, 0];
  for await (const line of linesOf(lines)) {
    index++;
    if (line.trim() === "") continue;
    const row = rowOf(line, { where: `${file}, row ${index}`, index, named, name: basename(file), preset });
    if (row === null) continue;
    rows.push(row);
    characters += line.length;
    if (rows.length < batch.rows && characters < batch.characters) continue;
    yield rows;
    [rows, characters] = [[], 0];
  }
  if (rows.length > 0) yield rows;
}

interface Row {
  where: string;
  index: number;
  named: ReadonlyMap<string, string>;
  /** Name of the file; ids are derived from it. */
  name: string;
  preset: FileOptions["preset"];
}

function rowOf(line: string, { where, index, named, name, preset }: Row): LogRow | null {
  const read = objectOf(line);
  if (read === undefined) throw new CommandError(`${where}: one JSON object a line is expected`);
  const json = preset === undefined ? read : preset(read);
  if (json === null) return null;
  const given = Object.fromEntries(columns.map((column) => [column, json[named.get(column) ?? column]]));
  const parsed = rowSchema.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new CommandError(`${where}: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? "not as expected"}`);
  }
  const row = parsed.data;
  const problem = nameProblem({ id: row.id, tenant: row.tenant, domain: row.domain, arm: row.arm });
  if (problem !== null) throw new CommandError(`${where}: ${problem}`);
  if ((row.messages ?? null) === null && (row.request ?? "").trim() === "")
    throw new CommandError(
      `${where}: it has neither request nor messages; --columns request=NAME says which column holds the question`,
    );
  // A log without times is one request a second.
  const createdAt = (row.time ?? "") === "" ? index * 1_000 : timeOf(row.time ?? "");
  if (!(createdAt >= 0 && createdAt < Date.UTC(2100, 0, 1)))
    throw new CommandError(
      `${where}: time: ${String(row.time).slice(0, 60)} is no time (2026-03-29T01:30:00Z, or seconds since 1970)`,
    );
  const request = plainRequest(row.request ?? "", {
    id: row.id ?? `${name}-${index}`,
    tenant: row.tenant ?? "default",
    domain: row.domain ?? null,
    createdAt,
  });
  request.messages = row.messages ?? request.messages;
  request.params = { ...request.params, maxTokens: row.max_tokens || null, temperature: row.temperature ?? null };
  return { request, answer: answerOf(row), load: 0, saturation: {} };
}

function objectOf(line: string): Record<string, unknown> | undefined {
  try {
    const json = JSON.parse(line) as unknown;
    return typeof json === "object" && json !== null ? (json as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function answerOf(row: z.infer<typeof rowSchema>): LogRow["answer"] {
  if (row.arm === undefined || row.arm === null || row.arm === "") return null;
  return {
    ...{ arm: row.arm, model: row.model ?? null, text: row.answer || null, finishReason: "stop" },
    ...{ promptTokens: row.prompt_tokens ?? 0, completionTokens: row.completion_tokens ?? 0, cost: row.cost ?? 0 },
    ...{ firstTokenMs: row.first_token_ms ?? null, serviceMs: row.total_ms ?? null },
    reward: row.reward ?? row.outcome ?? null,
    // A probability of 0 can't have led to what was chosen.
    propensity: row.propensity || null,
  };
}
