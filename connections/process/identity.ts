// Identity of a process: pid and start time in one boot. Pids are reused, so a pid alone must never
// be a reason to kill or to wait.
import { readFileSync } from "node:fs";

export interface ProcessIdentity {
  pid: number;
  /**
   * Clock ticks since boot with the boot's id: unique to one life of a process. Empty without
   * /proc.
   */
  started: string;
}

/** The identity of a living process; undefined when there is none (a zombie counts as dead). */
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
  if (ticks === undefined || state === "Z" || state === "X") return undefined;
  return { pid, started: `${ticks}@${bootId()}` };
}

/** Without /proc, only the pid identifies it. */
export function isAlive({ pid, started }: ProcessIdentity): boolean {
  return identify(pid)?.started === started;
}

function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}
