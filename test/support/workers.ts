// Stage processes of a test by their instance id: started, killed, frozen, and all of them ended by
// pid at the end.
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { StageName } from "../../pipelines/up.ts";
import type { Config } from "../../config/schema.ts";
import type { Cut } from "./unreliable-network.ts";

const script = fileURLToPath(new URL("./worker.ts", import.meta.url));
const run = fileURLToPath(new URL("../../tools/bin/run.mjs", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));

export interface WorkerOptions {
  /** Its connections to the broker go through a forwarder that can cut them. */
  network?: boolean;
}

export interface Workers {
  /** Resolves when its stages have joined their groups; rejects when the process ends before. */
  start(stages: StageName | readonly StageName[], instance: string, options?: WorkerOptions): Promise<void>;
  /**
   * Cuts one of the connections to the broker of a process that was started with a network of its
   * own (unreliable-network.ts).
   */
  cut(instance: string, index: number, how: Cut): void;
  /** kill -9, resolves when it is gone. */
  kill(instance: string): Promise<void>;
  /** SIGTERM; resolves to the exit code, null when it had to be killed after `withinMs`. */
  terminate(instance: string, withinMs?: number): Promise<number | null>;
  freeze(instance: string): void;
  thaw(instance: string): void;
  running(): string[];
  /** Pids by instance of those that run. */
  pids(): Record<string, number>;
  /** Those that ended unasked, with exit code or signal and their last lines. */
  ended(): readonly string[];
  /** Ends all that is left. */
  stop(): Promise<void>;
}

/** Logs of a process stand in `<folder>/<instance>.log`. */
export function createWorkers(config: Config, folder: string): Workers {
  const file = join(folder, "config.json");
  writeFileSync(file, JSON.stringify(config));
  const children = new Map<string, ChildProcess>();
  const ended: string[] = [];

  const end = async (instance: string, signal: NodeJS.Signals, withinMs: number): Promise<number | null> => {
    const child = children.get(instance);
    if (child === undefined) return null;
    children.delete(instance);
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const exited = once(child, "exit");
    child.kill(signal);
    const late = setTimeout(() => child.kill("SIGKILL"), withinMs);
    await exited;
    clearTimeout(late);
    return child.exitCode;
  };

  /** Read at its end: the folder is gone when the report is read. */
  const lastLines = (instance: string): string =>
    readFileSync(join(folder, `${instance}.log`), "utf8")
      .split("\n")
      .slice(-20)
      .join("\n")
      .slice(-4_000);

  return {
    async start(stages, instance, { network = false } = {}) {
      const log = openSync(join(folder, `${instance}.log`), "a");
      const child = fork(run, [script, file, [stages].flat().join(","), instance, ...(network ? ["network"] : [])], {
        cwd: root,
        execArgv: [],
        env: { ...process.env, NODE_ENV: "production" },
        stdio: ["ignore", log, log, "ipc"],
      });
      closeSync(log);
      children.set(instance, child);
      await new Promise<void>((resolve, reject) => {
        child.once("message", () => {
          resolve();
        });
        child.once("exit", (code, signal) => {
          // A child that the test ends is removed from the list before.
          if (children.get(instance) === child)
            ended.push(`${instance} ended with ${code ?? signal}:\n${lastLines(instance)}`);
          // Killed by the test while it was starting: that is a fault like any other.
          if (signal === "SIGKILL") resolve();
          else reject(new Error(`${instance} ended with ${code ?? signal}:\n${lastLines(instance)}`));
        });
      });
    },
    kill: async (instance) => {
      await end(instance, "SIGKILL", 10_000);
    },
    terminate: (instance, withinMs = 30_000) => end(instance, "SIGTERM", withinMs),
    // One that is just ending hears nothing any more.
    cut: (instance, index, how) => void children.get(instance)?.send({ index, how }, () => undefined),
    freeze: (instance) => void children.get(instance)?.kill("SIGSTOP"),
    thaw: (instance) => void children.get(instance)?.kill("SIGCONT"),
    running: () => [...children.keys()],
    pids: () => Object.fromEntries([...children].map(([instance, { pid }]) => [instance, pid ?? 0])),
    ended: () => ended,
    async stop() {
      for (const child of children.values()) child.kill("SIGCONT");
      await Promise.all([...children.keys()].map((instance) => end(instance, "SIGTERM", 20_000)));
      await sleep(0);
    },
  };
}
