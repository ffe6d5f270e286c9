// CPU seconds and memory of other processes, from Linux' /proc. A figure of a process is of all its
// threads.
import { readFileSync } from "node:fs";

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

/** Resident MiB now and at most, from the text of /proc/<pid>/status. */
export function residentOf(status: string): { now: number; peak: number } {
  const kibibytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]);
  return { now: (kibibytes("VmRSS") * 1024) / mebibyte, peak: (kibibytes("VmHWM") * 1024) / mebibyte };
}

/**
 * CPU seconds spent so far by a process and its living threads; throws when it is gone or this is
 * not Linux.
 */
export const cpuSeconds = (pid: number): number => cpuSecondsOf(readFileSync(`/proc/${pid}/stat`, "utf8"));

export const resident = (pid: number): { now: number; peak: number } =>
  residentOf(readFileSync(`/proc/${pid}/status`, "utf8"));

/** CPU seconds of this process. */
export function ownCpuSeconds(): number {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  return (userCPUTime + systemCPUTime) / 1e6;
}
