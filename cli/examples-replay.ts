// precedent examples replay run|show: asks the requests at the top of the ranking again and keeps
// the better answers, on a budget; what was tried, what it cost, what changed.
import type { Command } from "commander";
import { v7 as uuid } from "uuid";
import { mostWaitMs } from "../pipelines/replay/run.ts";
import { openJudge, startExampleReplay } from "../pipelines/replay/start.ts";
import type { Config } from "../config/schema.ts";
import { messageOf } from "../connections/errors.ts";
import { createLog } from "../runtime/log.ts";
import { showAgenda } from "./examples-replay-agenda.ts";
import { addShowingExampleReplays, describeCutOff } from "./examples-replay-show.ts";
import { UsageError, type Io } from "./io.ts";
import { parseCount, parseFromZero } from "./options.ts";
import { ago, oneLine } from "./reading.ts";
import { runningConfig } from "./running-config.ts";
import { openRunning } from "./with-session.ts";

interface RunOptions {
  judge?: string;
  top?: number;
  samples?: number;
  budgetTokens?: number;
  budgetCost?: number;
  arm?: string;
  cutOff?: number;
  anyLoad?: boolean;
  dryRun?: boolean;
  run?: string;
  json?: boolean;
}

export function addExampleReplay(examples: Command, io: Io): void {
  const replay = examples
    .command("replay")
    .description("ask the requests again that are worth it, and keep the better answers");
  replay
    .command("run")
    .description("one run over the top of the ranking (precedent examples rank); stopped, it goes on with --run")
    .option(
      "-j, --judge <who>",
      "an arm that compares both orders, or reference:FILE (JSONL of request and response): token F1; curate.exampleReplay.judge by default",
    )
    .option("-n, --top <count>", "examples tried at most; curate.exampleReplay.top by default", parseCount)
    .option("--samples <count>", "answers asked for each; curate.exampleReplay.samples by default", parseCount)
    .option(
      "--budget-tokens <count>",
      "tokens of the whole run; curate.exampleReplay.budgetTokens by default",
      parseCount,
    )
    .option(
      "--budget-cost <money>",
      "in the prices' currency; curate.exampleReplay.budgetCost by default, or without a limit",
      parseFromZero,
    )
    .option("-a, --arm <name>", "ask this arm instead of each example's own")
    .option(
      "--cut-off <gain>",
      "the least G(e) that is tried, 0 for any; learnt from past replays by default",
      parseFromZero,
    )
    .option("--any-load", "do not wait while the arms are busy (limits.offPeakLoad)")
    .option(
      "--dry-run",
      "show what would be asked, with its gain, expected saving and cost; call no arm, write nothing",
    )
    .option("-r, --run <id>", "go on with this run")
    .option("--json", "the result as JSON")
    .action(async (options: RunOptions, command: Command) => {
      const config = runningConfig(command, io, { callsArms: true });
      const budget = budgetOf(options, config);
      if (options.dryRun === true) {
        await showAgenda(options, command, io);
        return;
      }
      const who = options.judge ?? config.curate.exampleReplay.judge;
      if (who === undefined) throw new UsageError("--judge WHO, or curate.exampleReplay.judge in the configuration");
      const judge = await openJudge(who, {
        ...{ arms: config.arms, folder: io.cwd, log: createLog({ level: "error" }) },
      }).catch((error: unknown) => {
        throw new UsageError(`--judge: ${messageOf(error)}`);
      });
      const session = await openRunning(config, io);
      const runId = options.run ?? uuid();
      io.note(`run ${runId}\n`);
      try {
        const summary = await startExampleReplay(session, {
          runId,
          judge: judge.judge,
          top: options.top ?? config.curate.exampleReplay.top,
          samples: options.samples ?? config.curate.exampleReplay.samples,
          budget,
          arm: options.arm,
          cutOff: options.cutOff,
          anyLoad: options.anyLoad,
          signal: io.signal,
          onReplayed: ({ example, gain, beyond, result: { outcome, oldQuality, newQuality, tokens } }) => {
            const quality = `${oldQuality.toFixed(2)} → ${newQuality === null ? "-" : newQuality.toFixed(2)}`;
            const trial = beyond ? " (below the cut-off, to learn from)" : "";
            io.note(
              `${outcome.padEnd(9)} ${quality.padEnd(12)} gain ${gain.toPrecision(2)}${trial}, ${tokens} tokens  ${oneLine(example.request)}\n`,
            );
          },
          onWait: ({ waits, load, waitedMs }) => {
            io.note(
              waits
                ? `waits: the busiest arm has a load of ${load.toFixed(2)}, above ${config.limits.offPeakLoad} (--any-load)\n`
                : `goes on, load ${load.toFixed(2)}, after ${ago(waitedMs)} of at most ${ago(mostWaitMs)}\n`,
            );
          },
        });
        const { tried, tokens, cost, outcomes, ended, cutOff } = summary;
        const counts = Object.entries(outcomes).map(([outcome, count]) => `${count} ${outcome}`);
        const why = {
          done: "",
          "cut-off": "; what is left is not worth it",
          budget: "; the budget is used up",
          load: `; the load stayed high, go on with --run ${runId}`,
          interrupted: `; interrupted, go on with --run ${runId}`,
        }[ended];
        io.out(
          options.json === true
            ? `${JSON.stringify(summary)}\n`
            : `${tried} examples tried (${counts.join(", ") || "nothing new"}), ${tokens} tokens, cost ${cost.toPrecision(3)}${why}\n${describeCutOff(cutOff)}\n`,
        );
      } finally {
        await Promise.allSettled([judge.close(), session.close()]);
      }
    });
  addShowingExampleReplays(replay, io);
}

function budgetOf({ budgetTokens, budgetCost }: RunOptions, config: Config): { tokens: number; cost: number } {
  const { exampleReplay } = config.curate;
  return {
    tokens: budgetTokens ?? exampleReplay.budgetTokens,
    cost: budgetCost ?? exampleReplay.budgetCost ?? Infinity,
  };
}
