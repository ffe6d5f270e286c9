// Who a process is: its pid and when it started. A pid alone is reused by the system, so a leftover file that names
// one must never be a reason to kill or to wait for a stranger.
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

export interface ProcessIdentity {
  pid: number;
  /** Start time in clock ticks since boot, with the boot's id: unique to one life of one process. */
  started: string;
}

/** The identity of a living process; undefined when there is none (a zombie counts as dead). Linux: reads /proc. */
export function identify(pid: number): ProcessIdentity | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // "pid (name) state ppid ... starttime": the name may hold spaces and brackets, so count from the last bracket.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, ticks] = [fields[0], fields[19]];
  if (ticks === undefined || state === "Z" || state === "X") return undefined;
  return { pid, started: `${ticks}@${bootId()}` };
}

/** This process. Throws where /proc is missing: the embedded stack needs Linux. */
export function self(): ProcessIdentity {
  const identity = identify(process.pid);
  if (identity === undefined)
    throw new Error("/proc is not readable: the embedded stack needs Linux. Configure kafka, registry and clickhouse.");
  return identity;
}

export function isAlive(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.started === identity.started;
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

/** SIGTERM, then SIGKILL after graceMs; resolves when it is gone. Throws when it survives SIGKILL for 10 s. */
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

function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}
