// npm run demo: a system of its own in this process, and scenes that show what it does. Exit codes:
// 0 done, 1 failed, 130 interrupted. What it started is stopped in any case; the data stay for the
// next run.
import { createWriteStream, mkdirSync, type WriteStream } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import pc from "picocolors";
import { refuseTakenPorts } from "../../cli/start-report.ts";
import { messageOf } from "../../connections/errors.ts";
import { loadConfig } from "../../config/load.ts";
import { namedByArms } from "../../config/models.ts";
import { createLog } from "../../runtime/log.ts";
import type { Progress } from "../setup/progress.ts";
import { beginSetUp } from "../setup/setup.ts";
import { NoResponse, openClient } from "./client.ts";
import { readSampleData } from "./sample-data.ts";
import type { Scene } from "./scene.ts";
import { comparison } from "./scenes/comparison.ts";
import { examples } from "./scenes/examples.ts";
import { linked } from "./scenes/linked.ts";
import { next } from "./scenes/next.ts";
import { queries } from "./scenes/queries.ts";
import { questions } from "./scenes/questions.ts";
import { exampleReplay } from "./scenes/example-replay.ts";
import { createScreen, type Screen, seconds } from "./screen.ts";
import { startSystem } from "./start.ts";

/** Scenes that show times: nothing is compiled beside them. */
const timed: readonly Scene[] = [questions, comparison, linked];
const others: readonly Scene[] = [examples, exampleReplay, queries];

/** When the command was given: tools/demo.mjs hands it over. */
const commandedAt = Number(process.env["PRECEDENT_DEMO_STARTED"] ?? Date.now());

const stopping = new AbortController();
let signals = 0;
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.on(name, () => {
    // The second one means it.
    if (++signals > 1) process.exit(130);
    stopping.abort(new Error("stopped"));
  });
}

// `npm run demo | head` closes our output early: we end as after Ctrl-C, and leave nothing running.
process.stdout.on("error", () => stopping.abort(new Error("the output was closed")));

const screen = createScreen();
const { signal } = stopping;

async function demo(log: WriteStream, config: ReturnType<typeof loadConfig>["config"]): Promise<void> {
  const data = readSampleData();
  screen.heading(
    "Precedent",
    "Answers LLM requests from Kafka with the cheapest model that is expected to answer well enough. ClickHouse has every decision.",
  );
  const { folder: stackFolder } = config.stack;
  const models = namedByArms(config.arms);
  let endTimed = (): void => undefined;
  const indexesAfter = new Promise<void>((resolve) => (endTimed = resolve));
  const ready = beginSetUp({ progress: progressOn(screen), stackFolder, models, indexesAfter, signal });
  const logger = createLog({ level: "warn", pretty: false, destination: log });
  const system = await startSystem({ config, data, screen, log: logger, signal, ready });
  try {
    const client = await openClient(system.session, signal);
    try {
      const { session, stages, complete } = system;
      const show = async (scene: Scene): Promise<void> => {
        signal.throwIfAborted();
        await scene({ screen, session, stages, client, data, signal, commandedAt, complete });
      };
      for (const scene of timed) await show(scene);
      endTimed();
      for (const scene of others) await show(scene);
      await ready.indexes;
      await show(next);
    } finally {
      await client.close();
    }
  } finally {
    if (signal.aborted) screen.line(pc.dim("\nstopping"));
    await system.stop();
  }
}

/** Parts that were there already are not reported; the progress of a task is shown in its title. */
const progressOn = ({ task, line }: Screen): Progress => ({
  task: (title, work, outcome) =>
    task(
      title,
      work(() => undefined),
      outcome,
    ),
  line: (text) => {
    if (!text.endsWith(": there")) line(pc.dim(text));
  },
});

const endpoint = process.env["OPENAI_BASE_URL"] && process.env["OPENAI_API_KEY"];
const configFile = fileURLToPath(new URL(`../../deploy/demo${endpoint ? "-openai" : ""}.yaml`, import.meta.url));
let logFile = "";
let code = 0;
try {
  const { config } = loadConfig({ file: configFile });
  await refuseTakenPorts(config);
  const logs = join(config.stack.folder, "logs");
  mkdirSync(logs, { recursive: true });
  logFile = relative(process.cwd(), join(logs, "demo.log"));
  await demo(createWriteStream(logFile), config);
  screen.line(pc.dim(`done in ${seconds(Date.now() - commandedAt)}`));
} catch (error) {
  code = signal.aborted ? 130 : 1;
  if (!signal.aborted) {
    const words = messageOf(error);
    const busy = error instanceof NoResponse ? ". Is this machine busy? Try again: what was fetched stays" : "";
    screen.line(
      `\n${pc.red("The demo failed:")} ${words}${busy}${logFile === "" ? "" : `\nMore may stand in ${logFile}`}`,
    );
  }
}
if (process.stdout.writable) process.stdout.write("", () => process.exit(code));
else process.exit(code);
