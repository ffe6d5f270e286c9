// Keeps the stages of one `precedent up` running. They share a process, so a bug in one, or a
// native library that aborts, ends them all. This process waits for that one, logs how it ended and
// starts it again. What it had not committed is done again, once (docs/design/delivery.md).
import { spawn, type ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Logger } from "pino";
import { backoff } from "../algorithms/queueing/backoff.ts";
import { Ended, type Io } from "./io.ts";

/** Exit code of a process that ended by a bug; it has said which one. */
const bugCode = 70;
const variable = "PRECEDENT_KEPT_RUNNING";
const waits = { first: 250, limit: 30_000 };
/** A process that lived so long did not end by what ended the one before. */
const soundMs = 60_000;

/** Whether another process starts this one again. */
export const isKeptRunning = ({ environment }: Pick<Io, "environment">): boolean => environment[variable] !== undefined;

/** Ends when the stages end in order; throws Ended where they can't be started. */
export async function keepRunning(io: Io, log: Logger): Promise<void> {
  let wait = backoff(waits);
  let child: ChildProcess | undefined;
  // Between two processes the signal would end this one; the next reads the file anyway.
  process.on("SIGHUP", () => child?.kill("SIGHUP"));
  while (!io.signal.aborted) {
    const began = performance.now();
    const started = start();
    child = started;
    const stop = (): void => void started.kill("SIGTERM");
    io.signal.addEventListener("abort", stop);
    const { code, signal } = await ended(started);
    io.signal.removeEventListener("abort", stop);
    if (code === 0) return;
    if (signal === null && code !== bugCode) throw new Ended(code ?? 1);
    if (io.signal.aborted) throw new Ended(1);
    if (performance.now() - began > soundMs) wait = backoff(waits);
    const nextInMs = wait.next();
    const how = signal === null ? `code ${code}` : signal;
    log.error({ ended: how, nextInMs }, "the process of all stages ended: starting it again");
    await sleep(nextInMs, undefined, { signal: io.signal }).catch(() => undefined);
  }
}

/** In a process group of its own: Ctrl-C in a terminal reaches this process, which hands it on. */
function start(): ChildProcess {
  return spawn(
    process.execPath,
    [...process.execArgv, fileURLToPath(new URL("../tools/bin/precedent", import.meta.url)), ...process.argv.slice(2)],
    { env: { ...process.env, [variable]: "1" }, stdio: ["inherit", "inherit", "inherit", "ipc"], detached: true },
  );
}

const ended = (child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> =>
  new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });

/** An unknown state, or a lost keeper, ends the process: only uncommitted work is lost. */
export function endByBugs(log: Logger, stages: readonly string[]): void {
  process.on("uncaughtException", (error: unknown, origin) => {
    log.fatal({ err: error, origin, stages: stageOf(error) ?? stages }, "a bug ends this process");
    process.exit(bugCode);
  });
  process.once("disconnect", () => process.exit(bugCode));
}

/** Whose code threw, where its stack says so. */
function stageOf(error: unknown): string | undefined {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  return /\b(?:pipelines\/(\w+)|(gateway))\/[^\n]*\.ts/.exec(stack)?.slice(1).find(Boolean);
}
