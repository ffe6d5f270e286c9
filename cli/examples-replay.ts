// precedent examples replay run|show: asks the requests at the top of the ranking again and keeps
// the better answers, on a budget; what was tried, what it cost, what changed.
import { resolve } from "node:path";
import type { Command } from "commander";
import { v7 as uuid } from "uuid";
import { createArm } from "../arms/create.ts";
import { startReplay } from "../assembly/replay.ts";
import { openSession } from "../assembly/session.ts";
import type { Config } from "../config/schema.ts";
import { createCompare } from "../operators/judge/compare.ts";
import { createArmJudge, createReferenceJudge, readReferences, type Judge } from "../operators/replay/judge.ts";
import { createLog } from "../runtime/log.ts";
import { CommandError, UsageError, type Io } from "./io.ts";
import { configOf, parseCount } from "./options.ts";
import { oneLine, tableOf, withClickHouse } from "./reading.ts";

interface RunOptions {
  judge: string;
  top?: number;
  samples?: number;
  budgetTokens?: number;
  budgetCost?: string;
  arm?: string;
  run?: string;
  json?: boolean;
}

export function addReplayingExamples(examples: Command, io: Io): void {
  const replay = examples
    .command("replay")
    .description("ask the requests again that are worth it, and keep the better answers");
  replay
    .command("run")
    .description("one run over the top of the ranking (precedent examples rank); stopped, it goes on with --run")
    .requiredOption(
      "-j, --judge <who>",
      "an arm that compares both orders, or reference:FILE (JSONL of request and response): token F1",
    )
    .option("-n, --top <count>", "examples tried at most; curate.replay.top by default", parseCount)
    .option("--samples <count>", "answers asked for each; curate.replay.samples by default", parseCount)
    .option("--budget-tokens <count>", "tokens of the whole run; curate.replay.budgetTokens by default", parseCount)
    .option("--budget-cost <money>", "in the prices' currency; curate.replay.budgetCost by default, or without a limit")
    .option("-a, --arm <name>", "ask this arm instead of each example's own")
    .option("-r, --run <id>", "go on with this run")
    .option("--json", "the result as JSON")
    .action(async (options: RunOptions, command: Command) => {
      const { config } = configOf(command, io);
      const budget = budgetOf(options, config);
      const judge = await judgeOf(options.judge, config, io);
      const session = await openSession(config, { log: createLog({ level: "error" }), start: false });
      const runId = options.run ?? uuid();
      io.note(`run ${runId}\n`);
      try {
        const summary = await startReplay(session, {
          runId,
          judge: judge.judge,
          top: options.top ?? config.curate.replay.top,
          samples: options.samples ?? config.curate.replay.samples,
          budget,
          arm: options.arm,
          signal: io.signal,
          onReplayed: ({ example, gain, result: { outcome, oldQuality, newQuality, tokens } }) => {
            const quality = `${oldQuality.toFixed(2)} → ${newQuality === null ? "-" : newQuality.toFixed(2)}`;
            io.note(
              `${outcome.padEnd(9)} ${quality.padEnd(12)} gain ${gain.toPrecision(2)}, ${tokens} tokens  ${oneLine(example.request)}\n`,
            );
          },
        });
        const { tried, tokens, cost, outcomes, ended } = summary;
        const counts = Object.entries(outcomes).map(([outcome, count]) => `${count} ${outcome}`);
        const why = {
          done: "",
          budget: "; the budget is used up",
          interrupted: `; interrupted, go on with --run ${runId}`,
        }[ended];
        io.out(
          options.json === true
            ? `${JSON.stringify(summary)}\n`
            : `${tried} examples tried (${counts.join(", ") || "nothing new"}), ${tokens} tokens, cost ${cost.toPrecision(3)}${why}\n`,
        );
      } finally {
        await Promise.allSettled([judge.close(), session.close()]);
      }
    });

  replay
    .command("show")
    .description("the runs, or what one of them did")
    .argument("[run]", "its id")
    .option("--json", "one object a line")
    .action(async (run: string | undefined, { json }: { json?: boolean }, command: Command) => {
      const rows = await withClickHouse(command, io, (clickhouse) =>
        clickhouse.query<Record<string, string | number | null>>(run === undefined ? selectRuns : selectRun, {
          run: run ?? "",
        }),
      );
      if (run !== undefined && rows.length === 0) throw new CommandError(`no replay of a run ${run} is recorded`);
      const [first] = rows;
      if (json === true) for (const row of rows) io.out(`${JSON.stringify(row)}\n`);
      else if (first === undefined) io.out("no replays yet\n");
      else
        io.out(
          tableOf(
            Object.keys(first),
            rows.map((row) =>
              Object.values(row).map((value) => (typeof value === "string" ? oneLine(value) : (value ?? "-"))),
            ),
          ),
        );
    });
}

const selectRuns = `
  SELECT run_id AS run, toString(min(created_at)) AS began, count() AS tried, countIf(outcome = 'replaced') AS replaced,
    round(sumIf(new_quality - old_quality, outcome = 'replaced'), 3) AS bettered, sum(tokens) AS tokens, round(sum(cost), 6) AS cost
  FROM replays FINAL GROUP BY run_id ORDER BY began DESC LIMIT 100`;
const selectRun = `
  SELECT example_id AS example, attempt, outcome, round(old_quality, 3) AS old, round(new_quality, 3) AS new, tokens, round(cost, 6) AS cost
  FROM replays FINAL WHERE run_id = {run:String} ORDER BY created_at, example_id`;

function budgetOf({ budgetTokens, budgetCost }: RunOptions, config: Config): { tokens: number; cost: number } {
  const cost = budgetCost === undefined ? (config.curate.replay.budgetCost ?? Infinity) : Number(budgetCost);
  if (!(cost >= 0)) throw new UsageError(`--budget-cost ${budgetCost ?? ""}: a number of at least 0`);
  return { tokens: budgetTokens ?? config.curate.replay.budgetTokens, cost };
}

async function judgeOf(who: string, config: Config, io: Io): Promise<{ judge: Judge; close(): Promise<void> }> {
  if (who.startsWith("reference:")) {
    const references = await readReferences(resolve(io.cwd, who.slice("reference:".length)));
    return { judge: createReferenceJudge(references), close: () => Promise.resolve() };
  }
  const found = config.arms.find(({ name }) => name === who);
  if (found === undefined)
    throw new UsageError(`--judge ${who}: reference:FILE, or one of ${config.arms.map(({ name }) => name).join(", ")}`);
  const arm = await createArm(found, { log: createLog({ level: "error" }) });
  return { judge: createArmJudge(who, createCompare({ arm, clock: Date.now })), close: () => arm.close() };
}
