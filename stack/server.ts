// One server (ServerSpec) and the loop that keeps it running. One that was never ready is given up
// after some attempts with the end of its log; one that was is restarted without end, slower.
import { spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../connections/errors.ts";
import { waitAfter } from "../algorithms/queueing/backoff.ts";
import { logTail, openLog } from "./logs.ts";
import { identify, type ProcessIdentity } from "../connections/process/identity.ts";
import { end } from "./process.ts";

export type ServerName = "kafka" | "registry" | "clickhouse";

export interface Launch {
  command: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  cwd?: string;
}

export interface ServerSpec {
  name: ServerName;
  /** Writes what the server needs and says how to start it; called before every start. */
  prepare(): Promise<Launch>;
  /** After every end; clean: not by SIGKILL or a crash. */
  ended?(clean: boolean): Promise<void>;
  /** One short attempt: resolves once the server answers for real. */
  probe(): Promise<void>;
  stopGraceMs: number;
}

export interface ServerEvents {
  /** Called in the same tick as the spawn, so that no process is ever unrecorded for long. */
  started(name: ServerName, identity: ProcessIdentity): void;
  ready(name: ServerName, tookMs: number): void;
  died(name: ServerName, how: string, nextInMs: number): void;
  /** Nothing more will be tried. */
  gaveUp(name: ServerName, reason: string): void;
}

export type RunningServer = ReturnType<typeof keepRunning>;

export interface KeepOptions {
  logFile: string;
  /** A start may take this long, ms; the machine may be busy with five other things. */
  readyWithinMs: number;
  /** Deaths one after the other, before it has ever been ready, before giving up. */
  attempts: number;
}

export function keepRunning(spec: ServerSpec, options: KeepOptions, events: ServerEvents) {
  const stopping = new AbortController();
  const stopped = new Promise<"stopped">((settle) =>
    stopping.signal.addEventListener("abort", () => settle("stopped"), { once: true }),
  );
  let resolveFirst: () => void = () => undefined;
  let rejectFirst: (error: Error) => void = () => undefined;
  const firstReady = new Promise<void>((settle, fail) => {
    resolveFirst = settle;
    rejectFirst = fail;
  });
  firstReady.catch(() => undefined);

  /** One life of the server; says how it ended and whether it had been ready. */
  const live = async (): Promise<{ how: string; wasReady: boolean }> => {
    const run = await start(spec, options.logFile);
    events.started(spec.name, run.identity);
    const began = performance.now();
    const outcome = await Promise.race([stopped, run.exited, untilReady(spec, options.readyWithinMs, run.exited)]);
    const wasReady = outcome === "ready";
    if (wasReady) {
      events.ready(spec.name, performance.now() - began);
      resolveFirst();
    }
    if (typeof outcome === "object") {
      await end(run.identity, 2_000);
      return { how: outcome.timeout, wasReady };
    }
    if ((await Promise.race([stopped, run.exited])) === "stopped") await end(run.identity, spec.stopGraceMs);
    const how = await run.exited;
    // Java ends with 143 when it is asked to by SIGTERM.
    await spec.ended?.(/^ended with code (0|143)$/.test(how));
    return { how, wasReady };
  };

  const loop = (async () => {
    let failures = 0;
    let everReady = false;
    while (!stopping.signal.aborted) {
      const { how, wasReady } = await live().catch((error: unknown) => ({
        how: `could not be started: ${messageOf(error)}`,
        wasReady: false,
      }));
      if (stopping.signal.aborted) break;
      everReady ||= wasReady;
      failures = wasReady ? 0 : failures + 1;
      if (!everReady && failures >= options.attempts) {
        const reason = `${spec.name} ${how}, ${failures} times in a row. End of ${options.logFile}:\n${await logTail(options.logFile)}`;
        events.gaveUp(spec.name, reason);
        rejectFirst(new Error(reason));
        return;
      }
      const pause = failures === 0 ? 0 : waitAfter(failures - 1, { first: 250, limit: 5_000 });
      events.died(spec.name, how, pause);
      await Promise.race([stopped, delay(pause)]);
    }
    rejectFirst(new Error(`${spec.name} was stopped`));
  })();

  return {
    /** Resolves when it was ready for the first time; rejects when it was given up before. */
    firstReady,
    async stop(): Promise<void> {
      stopping.abort();
      await loop;
    },
  };
}

async function start(
  spec: ServerSpec,
  logFile: string,
): Promise<{ identity: ProcessIdentity; exited: Promise<string> }> {
  const launch = await spec.prepare();
  const log = openLog(logFile);
  try {
    // A process group of its own: Ctrl-C in a terminal reaches the supervisor alone, which then
    // stops them in order.
    const child = spawn(launch.command, launch.args, {
      cwd: launch.cwd,
      env: launch.env,
      stdio: ["ignore", log, log],
      detached: true,
    });
    const exited = new Promise<string>((settle) => {
      child.once("error", (error) => settle(`could not be started: ${error.message}`));
      child.once("exit", (code, signal) => settle(signal === null ? `ended with code ${code}` : `ended by ${signal}`));
    });
    if (child.pid === undefined) throw new Error(await exited);
    // One that is over before we look has an identity that no living process can have.
    return { identity: identify(child.pid) ?? { pid: child.pid, started: "over" }, exited };
  } finally {
    closeSync(log);
  }
}

async function untilReady(
  spec: ServerSpec,
  withinMs: number,
  exited: Promise<string>,
): Promise<"ready" | { timeout: string }> {
  let over = false;
  let lastly = "not asked yet";
  void exited.then(() => (over = true));
  const limit = performance.now() + withinMs;
  while (!over && performance.now() < limit) {
    try {
      await spec.probe();
      return "ready";
    } catch (error) {
      lastly = messageOf(error);
      await delay(50);
    }
  }
  return { timeout: `was not ready within ${Math.round(withinMs / 1000)} s (${lastly})` };
}
