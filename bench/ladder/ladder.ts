// bench -- ladder: real models of three sizes, with and without linked examples, through the real
// stages; quality, CPU, and what the router makes of them at seven prices. The answers are asked
// once and logged (hours on a small machine); the router is replayed over the log. Quick takes the
// log that is kept, here or beside the results.
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { answerCode } from "../../algorithms/text/answer-code.ts";
import { bestTokenF1 } from "../../algorithms/text/token-f1.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { significant } from "../support/statistics.ts";
import { modelFiles, settingsHash } from "./arms.ts";
import { collect } from "./collect.ts";
import { type Item, missingData, readItems, readPool } from "./data.ts";
import { complete, figuresOf, type Overhead } from "./figures.ts";
import { keyOf, type SavedRow, readLog, type Row } from "./log.ts";

export const ladder: Benchmark = {
  name: "ladder",
  about: "real models of three sizes: quality, CPU and what the router makes of them",
  run,
};

const usualRequests = 60;
const quickRequests = 100;
/** Asked a second time, by every arm. */
const warmRequests = 5;
/** For what a request takes besides its model; behind those of the sample. */
const otherRequests = { from: 400, to: 520 };
const longestSeconds = 40 * 60;

const effort = {
  full: { orders: 8, every: 10, draws: 40, stream: 1_500 },
  quick: { orders: 2, every: 20, draws: 20, stream: 0 },
};
/** Figures of the kept answers, without a word of them. */
const savedFile = fileURLToPath(new URL("../results/ladder-log.json", import.meta.url));

interface SavedRun {
  settings: string;
  overhead: Overhead | null;
  rows: Row[];
}

async function run(context: BenchContext): Promise<Measured> {
  const { folder, quick, requests = quick ? quickRequests : usualRequests, note } = context;
  const file = join(folder, `answers-${settingsHash}.jsonl`);
  const overheadFile = join(folder, `overhead-${settingsHash}.json`);
  const absent = [...missingData(context.data), ...modelFiles().filter((model) => !existsSync(model))];
  if (!quick && absent.length > 0) return nothing(`there is no ${absent.join(" and no ")}; ${remedy}`);
  if (quick) return fromSaved(file, overheadFile, requests, context);
  const log = await readLog<SavedRow>(file);
  if (log.size > 0) note(`${log.size} answers are kept already`);
  const all = await readItems(context.data);
  const items = all.slice(0, requests);
  const pool = await readPool(context);
  const others = all.slice(otherRequests.from, otherRequests.to);
  const warm = Math.min(warmRequests, items.length);
  const overhead = await collect(context, { items, others, pool, warm, log, file, seconds: longestSeconds });
  await writeFile(overheadFile, JSON.stringify(overhead));
  const rows = rated(log, items);
  await keep({ settings: settingsHash, overhead, rows: [...rows.values()].map(rounded) });
  return measured(rows, overhead, context);
}

const remedy = 'run "npm run setup -- --model NAME" for the models, and set PRECEDENT_DATA to the folder with nl2bash';

async function fromSaved(file: string, overheadFile: string, requests: number, context: BenchContext) {
  const here = await readLog<SavedRow>(file);
  if (here.size > 0 && missingData(context.data).length === 0) {
    context.note("from the answers kept here");
    const overhead = existsSync(overheadFile) ? (JSON.parse(await readFile(overheadFile, "utf8")) as Overhead) : null;
    return measured(rated(here, (await readItems(context.data)).slice(0, requests)), overhead, context);
  }
  if (!existsSync(savedFile)) return nothing(`no answers are kept: run it without --quick once (${remedy})`);
  const kept = JSON.parse(await readFile(savedFile, "utf8")) as SavedRun;
  context.note("from the answers kept beside the results");
  const rows = new Map(kept.rows.filter(({ item }) => item < requests).map((row) => [keyOf(row), row]));
  return measured(rows, kept.overhead, context);
}

/** Rated anew: the answer in the log is as the model gave it. */
function rated(log: ReadonlyMap<string, SavedRow>, items: readonly Item[]): Map<string, Row> {
  return new Map(
    [...log.entries()].flatMap(([key, { text, commit: _commit, ...row }]) => {
      const item = items[row.item];
      return item === undefined ? [] : [[key, { ...row, quality: bestTokenF1(answerCode(text), item.references) }]];
    }),
  );
}

function measured(rows: ReadonlyMap<string, Row>, overhead: Overhead | null, { quick, note }: BenchContext): Measured {
  const count = complete(rows).length;
  if (count < 10) return nothing(`only ${count} requests were answered by every arm, and 10 are the least`);
  note(`replaying the router over ${count} requests`);
  return figuresOf(rows, overhead, quick ? effort.quick : effort.full);
}

function nothing(reason: string): Measured {
  const names = ["arms", "worth", "weights_won_cold", "weights_won_warm", "throughput_ratio", "win_rate"];
  const all = [...names, "win_rate_low", "ttft_ratio"];
  return {
    figures: Object.fromEntries(all.map((name) => [name, null])),
    reasons: Object.fromEntries(all.map((name) => [name, reason])),
  };
}

const rounded = (row: Row): Row => ({
  ...row,
  context: row.context.map((value) => significant(value)),
  firstTokenMs: row.firstTokenMs === null ? null : Math.round(row.firstTokenMs),
  cpu: { model: significant(row.cpu.model), ours: significant(row.cpu.ours), servers: significant(row.cpu.servers) },
});

async function keep(kept: SavedRun): Promise<void> {
  await mkdir(dirname(savedFile), { recursive: true });
  const { rows, ...head } = kept;
  const lines = rows.map((row) => `    ${JSON.stringify(row)}`).join(",\n");
  await writeFile(savedFile, `${JSON.stringify(head).slice(0, -1)},\n  "rows": [\n${lines}\n  ]\n}\n`);
}
