// Takes over downloads that tools/prefetch.mjs began while npm installed: prefetched/KEY in the
// cache folder is complete, prefetched/KEY.PID is still written by that process.
import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cacheFolder } from "../../config/assets.ts";
import { succeeds } from "../errors.ts";
import { identify } from "./identity.ts";

const pollMs = 200;

/** Moves a complete download to `target`, waiting ten minutes at most; false: there is none. */
export async function takePrefetched(key: string, target: string, longestMs = 600_000): Promise<boolean> {
  const folder = join(cacheFolder(), "prefetched");
  const end = Date.now() + longestMs;
  for (;;) {
    const names = await readdir(folder).catch((): string[] => []);
    if (names.includes(key)) return succeeds(rename(join(folder, key), target));
    const writers = names
      .filter((name) => name.startsWith(`${key}.`))
      .map((name) => Number(name.slice(key.length + 1)));
    if (!writers.some((pid) => Number.isInteger(pid) && identify(pid) !== undefined) || Date.now() >= end) return false;
    await sleep(pollMs);
  }
}
