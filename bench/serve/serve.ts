// bench -- serve: shell requests and word problems in one stream, answered by two real models
// through the real stages; what the router would make of them against the large model alone and
// against simple rivals. Answers are collected once and kept, some each sitting; the figures are
// computed from those that are kept.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { parseTrace } from "../overload/arrivals.ts";
import { dataFolder } from "../support/data-file.ts";
import { ablations, built, cold, modelFiles } from "./arms.ts";
import { collect, missingOf } from "./collect.ts";
import { escalation } from "./escalation/escalation.ts";
import { completeOf, effort, figuresOf } from "./figures.ts";
import { judge } from "./judge.ts";
import { readAnswers, saveAnswers } from "./log.ts";
import { missingFiles, readPool, readStream } from "./stream.ts";

export const serve: Benchmark = {
  name: "serve",
  about: "two real models on shell requests and word problems: the router, the large model alone, simple rivals",
  parts: ["caches", "ablations", "escalation", "judge"],
  run,
};

/** Positions of the stream that a sitting aims at. */
const usualRequests = 120;
const longestSeconds = 40 * 60;
/** Fewer say nothing. */
const leastComplete = 10;
const remedy = 'run "npm run setup -- --model NAME" for the models, and set PRECEDENT_DATA to the folder with the data';

async function run(context: BenchContext): Promise<Measured> {
  const { folder, quick, requests = usualRequests, note } = context;
  const file = join(folder, "answers.jsonl");
  if (context.only === "escalation") return escalation(context, file);
  if (context.only === "judge") return judge(context, file);
  const answers = await readAnswers(file);
  if (!quick) {
    const absent = [...missingFiles(), ...modelFiles().filter((model) => !existsSync(model))];
    if (absent.length > 0) return nothing(`there is no ${absent.join(" and no ")}; ${remedy}`);
    if (answers.rows.size > 0) note(`${answers.rows.size} answers are kept already`);
    const items = (await readStream()).slice(0, requests);
    const arms = context.only === "caches" ? built : context.only === "ablations" ? ablations : cold;
    if (missingOf({ items, arms, answers }).length > 0) {
      const pool = await readPool(context);
      try {
        await collect(context, { items, arms, pool, answers, file, seconds: longestSeconds });
      } finally {
        await saveAnswers(answers);
      }
    }
  }
  const complete = completeOf(answers.rows.values()).length;
  if (complete < leastComplete)
    return nothing(`${complete} requests were answered by every arm, and ${leastComplete} are the least (${remedy})`);
  if (!answers.sittings.some(({ overhead }) => overhead.requests > 0))
    return nothing("no sitting has measured what a request takes besides its model: one of more requests does");
  note(`figures from the kept answers to ${complete} requests`);
  return figuresOf(answers, quick ? effort.quick : effort.full, await readTrace());
}

const trace = "azure-llm-conv-2023.csv";
/** Arrivals of a real service, milliseconds; null: the file is not there. */
async function readTrace(): Promise<number[] | null> {
  const file = join(dataFolder(), trace);
  return existsSync(file) ? parseTrace(await readFile(file, "utf8"), trace) : null;
}

function nothing(reason: string): Measured {
  const names = ["arms", "router", "rivals", "weights_won", "load", "caches", "pool", "feedback"];
  return {
    figures: Object.fromEntries(names.map((name) => [name, null])),
    reasons: Object.fromEntries(names.map((name) => [name, reason])),
  };
}
