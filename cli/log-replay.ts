// precedent log-replay run|list|remove: runs a log through the stages again, in topics and
// databases of its own, under one policy or several.
import { randomBytes } from "node:crypto";
import { InvalidArgumentError, type Command } from "commander";
import { beginLogReplay, goOn, listLogReplays, removeLogReplay } from "../analysis/log-replay/run.ts";
import type { LogReplayOptions } from "../analysis/log-replay/lane.ts";
import type { Config } from "../config/schema.ts";
import { createLog } from "../runtime/log.ts";
import { startProgress, type Progress } from "../stack/progress.ts";
import { describeLogReplay } from "./describe-log-replay.ts";
import { CommandError, UsageError, type Io } from "./io.ts";
import { configOf, parseAboveZero, parseNames } from "./options.ts";
import { parseTime } from "./policy-window.ts";
import { jsonLines, tableOf } from "./reading.ts";
import { planOf, sourceOf, unreadable, type LogOptions } from "./log-replay-source.ts";

export function addLogReplay(program: Command, io: Io): void {
  const logReplay = program
    .command("log-replay")
    .description("run a log through the stages again; nothing live is touched");
  logReplay
    .command("run")
    .description("replay a window of the log, or a log of another system, and say what each policy made of it")
    .option("--from <time>", "requests from then on: 2026-11-22, 2026-11-22T10:00Z, or 90m, 24h, 7d ago", parseTime)
    .option("--to <time>", "requests before then; now by default", parseTime)
    .option("-f, --file <file>", "a log of another system: .jsonl, .csv (with a header) or .parquet (docs/replay.md)")
    .option("--columns <pairs>", "columns of the file by ours: request=prompt,answer=completion,time=when")
    .option("--speed <factor>", "1: as it was, 10: ten times as fast, max: as fast as possible (default)", parseSpeed)
    .option("-p, --policy <policy>", "router@VERSION (0: the prior) or a FILE.json; several: side by side", collect)
    .option("--live-arms <names>", "ask these arms, separated by commas, instead of the log", parseNames())
    .option("--seed <number>", "of everything that is left to chance; 1 by default", parseSeed)
    .option("-r, --run <id>", "go on with this log replay, which was stopped or killed")
    .option(
      "--keep",
      "keep its topics, databases and folder, for precedent sql; precedent log-replay remove ID ends that",
    )
    .option("--json", "the report as one object")
    .action(async (options: LogOptions, command: Command) => {
      const { config } = configOf(command, io);
      await runLogReplay(options, config, io);
    });
  logReplay
    .command("list")
    .description("log replays that were kept, or not finished")
    .option("--json", "one object a line")
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      const states = (await listLogReplays(configOf(command, io, { callsArms: false }).config)).map(
        ({ id, source, startedAt, lanes }) => ({
          ...{ id, source, began: new Date(startedAt).toISOString() },
          state: lanes.every(({ done }) => done) ? "kept" : "not finished",
        }),
      );
      if (json === true) io.out(jsonLines(states));
      else
        io.out(
          states.length === 0
            ? "no log replays\n"
            : tableOf(
                ["log replay", "log", "began", ""],
                states.map((one) => Object.values(one)),
              ),
        );
    });
  logReplay
    .command("remove")
    .description("remove the topics, databases and folder of a log replay")
    .argument("<id>", "its id")
    .action(async (id: string, _options, command: Command) => {
      const { config } = configOf(command, io, { callsArms: false });
      await removeLogReplay(checkedId(id), { config, log: createLog({ level: "error" }) });
      io.out(`removed log replay ${id}\n`);
    });
}

async function runLogReplay(options: LogOptions, config: Config, io: Io): Promise<void> {
  const unknown = options.liveArms?.find((name) => !config.arms.some((arm) => arm.name === name));
  if (unknown !== undefined)
    throw new UsageError(`--live-arms ${unknown}: there are ${config.arms.map(({ name }) => name).join(", ")}`);
  let reported = 0;
  const bars = new Map<string, Progress>();
  const outside: LogReplayOptions = {
    config,
    log: createLog({ level: "error" }),
    signal: io.signal,
    onRead(rows) {
      if (rows - reported < 100_000) return;
      reported = rows;
      io.note(`${rows} rows of the log are read\n`);
    },
    onReplayed(policy, answered, of) {
      if (!bars.has(policy)) bars.set(policy, startProgress(`replaying ${policy}`, of, "requests"));
      bars.get(policy)?.update(answered);
      if (answered >= of) bars.get(policy)?.finish();
    },
  };
  const source = sourceOf(options, config, io);
  const id = options.run === undefined ? randomBytes(4).toString("hex") : checkedId(options.run);
  if (options.run === undefined) await beginLogReplay(id, await planOf(options, source, config, io), outside);
  io.note(`log replay ${id}; stopped, it goes on with --run ${id}\n`);
  const rows = source?.rows() ?? (() => unreadable(id));
  const report = await goOn(id, rows, outside).catch((error: unknown) => {
    if (error instanceof CommandError || error instanceof UsageError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(
      `${reason}\nlog replay ${id} goes on with: precedent log-replay run --run ${id} (log-replay remove ${id} gives it up)`,
    );
  });
  io.out(
    options.json === true
      ? `${JSON.stringify({ ...report, kept: options.keep === true })}\n`
      : describeLogReplay(report),
  );
  if (options.keep !== true) await removeLogReplay(id, outside);
  else io.note(`kept: precedent log-replay remove ${id}\n`);
}

const collect = (text: string, before: readonly string[] = []): string[] => [...before, text];

function parseSpeed(text: string): number | null {
  return text === "max" ? null : parseAboveZero(text);
}

function parseSeed(text: string): bigint {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError("A whole number from 0.");
  return BigInt(text);
}

/** It becomes part of names: nothing else may. */
function checkedId(id: string): string {
  if (!/^[0-9a-f]{8}$/.test(id)) throw new UsageError(`${id} is no log replay: precedent log-replay list`);
  return id;
}
