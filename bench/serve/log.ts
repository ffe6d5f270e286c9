// The answers that serve is computed from, one row an answer. Rows with their texts stay under
// .precedent/bench, appended as they come; beside the results lie the same rows without any text,
// so that another machine goes on from there.
import { existsSync } from "node:fs";
import { appendFile, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { writeAtomically } from "../../connections/process/lock.ts";
import type { Cpu, Overhead } from "../support/overhead.ts";
import { readAppended } from "../support/samples.ts";
import { significant } from "../support/statistics.ts";
import { type ArmName, arms, settingsOf } from "./arms.ts";
import type { Judged } from "./judge-figures.ts";
import type { Domain } from "./stream.ts";

export interface Row {
  position: number;
  /** Hash of the request's text. */
  hash: string;
  domain: Domain;
  arm: ArmName;
  /** arms.ts */
  settings: string;
  /** [0, 1]; of word problems by the number behind the last ####. */
  score: number;
  /** The same by the last number of the answer, where there is no ####. */
  lenient: number;
  /** Examples shown by the system; absent in the first sittings. */
  shown?: number;
  /** Score and similarity of the nearest example's answer; null: no example was shown. */
  copy: number | null;
  similarity: number | null;
  /** From the answer before to this one. */
  cpu: Cpu;
  firstTokenMs: number | null;
  /** Tokens. */
  usage: { prompt: number; linked: number; recomputed: number; prefilled: number; completion: number };
  finish: string | null;
  /** The router's context for this arm. */
  context: number[];
  commit: string | null;
  /** Small arms only, once bench -- serve --only escalation has computed it. */
  probe?: Probe;
  /** small-with beside large-without, once bench -- serve --only judge has asked. */
  judged?: Judged;
}

/** How sure the model was of its answer; null: the answer is empty. */
export interface Probe {
  /** Mean and least log-probability of the answer's tokens, nats. */
  logprob: number | null;
  least: number | null;
  /** Token F1 with the closest of the examples' answers, [0, 1]. */
  agreement: number;
}

/** What was measured besides the answers, each time that some were collected. */
export interface Sitting {
  commit: string | null;
  date: string;
  overhead: Overhead;
  /** Caches made before the requests came; CPU seconds of all of them. */
  build: { examples: number; caches: number; tokens: number; cpu_s: number; disk_mib: number } | null;
}

/** As kept on the machine that asked. */
export interface LoggedRow extends Row {
  text: string;
  /** Ids of the examples shown, in the prompt's order. */
  examples?: string[];
}

export interface Answers {
  sittings: Sitting[];
  rows: Map<string, Row>;
}

const savedFile = fileURLToPath(new URL("../results/serve-answers.json", import.meta.url));

export const keyOf = ({ position, arm }: Pick<Row, "position" | "arm">): string => `${position} ${arm}`;

/** Whether a row was asked under the present settings. */
function isCurrent(): (row: Row) => boolean {
  const valid = new Map(arms.map((arm) => [arm.name as string, settingsOf(arm)]));
  return ({ arm, settings }) => valid.get(arm) === settings;
}

/** Rows with their texts, by key: what this machine asked. */
export async function readLogged(file: string): Promise<Map<string, LoggedRow>> {
  const rows = (await readAppended<LoggedRow>(file)).filter(isCurrent());
  return new Map(rows.map((row) => [keyOf(row), row]));
}

/** Those beside the results and those of `file`, which win. Rows of other settings don't count. */
export async function readAnswers(file: string, beside = savedFile): Promise<Answers> {
  const saved = existsSync(beside)
    ? (JSON.parse(await readFile(beside, "utf8")) as { sittings: Sitting[]; rows: Row[] })
    : { sittings: [], rows: [] };
  const here = [...(await readLogged(file)).values()];
  const rows = [...saved.rows.filter(isCurrent()), ...here.map(({ text: _text, examples: _examples, ...row }) => row)];
  return { sittings: saved.sittings, rows: new Map(rows.map((row) => [keyOf(row), row])) };
}

export const appendRow = (file: string, row: LoggedRow): Promise<void> => appendFile(file, `${JSON.stringify(row)}\n`);

/** Writes the rows beside the results, in the order of the stream. */
export async function saveAnswers({ sittings, rows }: Answers, beside = savedFile): Promise<void> {
  const order = new Map(arms.map(({ name }, i) => [name, i]));
  const lines = [...rows.values()]
    .sort((a, b) => a.position - b.position || order.get(a.arm)! - order.get(b.arm)!)
    .map((row) => `    ${JSON.stringify(rounded(row))}`);
  const head = sittings.map((sitting) => `    ${JSON.stringify(sitting)}`);
  const members = [`  "sittings": [\n${head.join(",\n")}\n  ]`, `  "rows": [\n${lines.join(",\n")}\n  ]`];
  await writeAtomically(beside, `{\n${members.join(",\n")}\n}\n`, 0o644);
}

const rounded = (row: Row): Row => ({
  ...row,
  context: row.context.map((value) => significant(value)),
  similarity: row.similarity === null ? null : significant(row.similarity),
  firstTokenMs: row.firstTokenMs === null ? null : Math.round(row.firstTokenMs),
  cpu: { model: significant(row.cpu.model), ours: significant(row.cpu.ours), servers: significant(row.cpu.servers) },
});
