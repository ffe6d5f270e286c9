// Memory that a process may still take. In a container Node counts the page cache as taken, which
// downloads fill; the kernel gives up what of it is not in use.
import { readFileSync } from "node:fs";
import { freemem } from "node:os";
import { join } from "node:path";

/** Bytes. */
export const freeMemory = (): number =>
  Math.min(freemem(), process.availableMemory() + inactiveCache(textOfFirst(statFiles(textOfFirst([cgroupFile])))));

const cgroupFile = "/proc/self/cgroup";

/** Bytes of the page cache out of use, from a memory.stat of either version; 0: unknown. */
export function inactiveCache(stat: string): number {
  const of = (name: string): string | undefined => new RegExp(`^${name} (\\d+)$`, "m").exec(stat)?.[1];
  return Number(of("total_inactive_file") ?? of("inactive_file") ?? 0);
}

/** Where the memory.stat of a process may be, from its /proc/self/cgroup: the likeliest first. */
export function statFiles(cgroup: string): string[] {
  const path = (pattern: RegExp): string[] => [...new Set([pattern.exec(cgroup)?.[1] ?? "/", "/"])];
  return [
    ...path(/^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m).map((own) => join("/sys/fs/cgroup/memory", own, "memory.stat")),
    ...path(/^0::(.*)$/m).map((own) => join("/sys/fs/cgroup", own, "memory.stat")),
  ];
}

function textOfFirst(files: readonly string[]): string {
  for (const file of files)
    try {
      return readFileSync(file, "utf8");
    } catch {
      // The next one.
    }
  return "";
}
