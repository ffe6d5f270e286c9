// Processes of the stack: scripts to start, and which one is which, by pid and start time.
import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { identify, isAlive, type ProcessIdentity } from "../connections/process/identity.ts";

export const projectFolder = fileURLToPath(new URL("..", import.meta.url));
/** Arguments of node that run a file of this folder. */
export const script = (file: string): string[] =>
  ["tools/bin/run.mjs", `stack/${file}`].map((path) => join(projectFolder, path));

/** This process. Throws where /proc is missing: the embedded stack needs Linux. */
export function self(): ProcessIdentity {
  const identity = identify(process.pid);
  if (identity === undefined || identity.started === "")
    throw new Error("/proc is not readable: the embedded stack needs Linux. Configure kafka, registry and clickhouse.");
  return identity;
}

/** Sends a signal only to that very process; false when it is gone. */
export function signal(identity: ProcessIdentity, name: NodeJS.Signals): boolean {
  if (!isAlive(identity)) return false;
  try {
    process.kill(identity.pid, name);
    return true;
  } catch {
    return false;
  }
}

/** SIGTERM, then SIGKILL after graceMs. Throws when it survives that for 10 s. */
export async function end(identity: ProcessIdentity, graceMs: number): Promise<void> {
  if (!signal(identity, "SIGTERM")) return;
  if (await gone(identity, graceMs)) return;
  signal(identity, "SIGKILL");
  if (!(await gone(identity, 10_000))) throw new Error(`process ${identity.pid} survives SIGKILL`);
}

/** Whether it has ended within the time, looked at every 25 ms. */
export async function gone(identity: ProcessIdentity, withinMs: number): Promise<boolean> {
  const limit = performance.now() + withinMs;
  while (isAlive(identity)) {
    if (performance.now() >= limit) return false;
    await delay(25);
  }
  return true;
}

/** The exit code of a child, once all of its output is there; null: a signal ended it. */
export const codeOf = (child: ChildProcess): Promise<number | null> =>
  new Promise((settle, fail) => {
    child.once("error", fail);
    child.once("close", settle);
  });
