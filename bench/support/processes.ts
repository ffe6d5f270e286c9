// CPU seconds and memory of other processes, from Linux' /proc. A figure of a process is of all its
// threads.
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";

/** Linux counts CPU time in hundredths of a second, whatever its timer does (USER_HZ). */
const ticksPerSecond = 100;
const mebibyte = 1024 * 1024;

/**
 * User and system seconds from the text of /proc/<pid>/stat. The name in it may hold spaces and
 * parentheses.
 */
export function cpuSecondsOf(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/**
 * Resident MiB from the text of /proc/<pid>/status: now and at most; anonymous pages, and those of
 * mapped files, which the system takes back when it needs memory.
 */
export function residentOf(status: string): { now: number; peak: number; anonymous: number; mapped: number } {
  const kibibytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]);
  const mebibytes = (name: string): number => (kibibytes(name) * 1024) / mebibyte;
  return {
    ...{ now: mebibytes("VmRSS"), peak: mebibytes("VmHWM") },
    ...{ anonymous: mebibytes("RssAnon"), mapped: mebibytes("RssFile") + mebibytes("RssShmem") },
  };
}

/**
 * CPU seconds spent so far by a process and its living threads; throws when it is gone or this is
 * not Linux.
 */
export const cpuSeconds = (pid: number): number => cpuSecondsOf(readFileSync(`/proc/${pid}/stat`, "utf8"));

export const resident = (pid: number): ReturnType<typeof residentOf> =>
  residentOf(readFileSync(`/proc/${pid}/status`, "utf8"));

/** CPU seconds of this process. */
export function ownCpuSeconds(): number {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  return (userCPUTime + systemCPUTime) / 1e6;
}

/**
 * CPU seconds of a process ("main") and of every living descendant, by the folder of the worker
 * that it runs ("vectors": the vector index). Throws when the process is gone.
 */
export function cpuSecondsOfTree(pid: number): Record<string, number> {
  const sums: Record<string, number> = { main: cpuSeconds(pid) };
  for (const { child, name } of descendants(pid))
    sums[name] = (sums[name] ?? 0) + (read(`/proc/${child}/stat`, cpuSecondsOf) ?? 0);
  return sums;
}

function descendants(pid: number): { child: number; name: string }[] {
  const parents = new Map<number, number[]>();
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const parent = read(`/proc/${entry}/stat`, parentOf);
    if (parent !== undefined) parents.set(parent, [...(parents.get(parent) ?? []), Number(entry)]);
  }
  const below = (id: number): number[] => (parents.get(id) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(pid).map((child) => ({ child, name: read(`/proc/${child}/cmdline`, workerName) ?? "other" }));
}

/** undefined: the process is gone. */
function read<T>(file: string, of: (text: string) => T): T | undefined {
  try {
    return of(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

/** The parent's id, from the text of /proc/<pid>/stat. */
const parentOf = (stat: string): number => Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);

/** What a command line runs: "vectors" of ".../state/vectors/worker.ts"; "other" if unknown. */
export function workerName(commandLine: string): string {
  const entry = /"entry":"([^"]+)"/.exec(commandLine)?.[1];
  return entry === undefined ? "other" : basename(dirname(entry));
}
