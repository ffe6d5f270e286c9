// Identity of a process: pid and start time in one boot. Pids are reused, so a pid alone must never
// be a reason to kill or to wait.
import { existsSync, readdirSync, readFileSync } from "node:fs";

export interface ProcessIdentity {
  pid: number;
  /** Clock ticks since boot, and the boot's id: unique to a process. Empty without /proc. */
  started: string;
}

/** A process as it tells others who it is. */
export interface ProcessHolder {
  host: string;
  pid: number;
  /** Unique to one life of one process, with the boot's id; empty: not known. */
  started: string;
  /** The namespace that the pid counts in; empty: not known. */
  space: string;
}

/**
 * The identity of a living process; undefined when there is none. A zombie counts as dead once its
 * last thread has ended: until then it holds its ports and files.
 */
export function identify(pid: number): ProcessIdentity | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Any other refusal (EPERM) comes from a living process of another user.
    if (error instanceof Error && "code" in error && error.code === "ESRCH") return undefined;
  }
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return { pid, started: "" };
  }
  // "pid (name) state ppid ... starttime": the name may hold spaces and brackets, so count from the
  // last bracket.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, ticks] = [fields[0], fields[19]];
  if (ticks === undefined || (ended(state) && !hasThreads(pid))) return undefined;
  return { pid, started: `${ticks}@${bootId()}` };
}

/** Without /proc, only the pid identifies it. */
export function isAlive({ pid, started }: ProcessIdentity): boolean {
  return identify(pid)?.started === started;
}

function ended(state: string | undefined): boolean {
  return state === "Z" || state === "X";
}

function hasThreads(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).some((thread) => {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8");
      return !ended(stat.slice(stat.lastIndexOf(")") + 2)[0]);
    });
  } catch {
    // One ended while it was read: whether others are left, the next look tells.
    return existsSync(`/proc/${pid}/task`);
  }
}

function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}
