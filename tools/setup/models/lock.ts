// One at a time on a part of the cache folder, over all processes; a dead holder's lock is taken
// over after a minute.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import lockfile from "proper-lockfile";
import { cacheFolder } from "../../../config/assets.ts";

/** Waits up to ten minutes for another that works on the same part, and says so. */
export async function withLock<T>(name: string, say: (line: string) => void, work: () => Promise<T>): Promise<T> {
  const folder = cacheFolder();
  await mkdir(folder, { recursive: true });
  // A name for each part: proper-lockfile knows what a process holds by the name of what it locks.
  const part = join(folder, `setup-${name}`);
  const options = { realpath: false, stale: 60_000, update: 5_000 };
  let release: () => Promise<void>;
  try {
    release = await lockfile.lock(part, options);
  } catch {
    say(`another set-up works on ${name} in ${folder}: waiting for it`);
    release = await lockfile.lock(part, {
      ...options,
      retries: { retries: 600, factor: 1, minTimeout: 1_000, maxTimeout: 1_000 },
    });
  }
  try {
    return await work();
  } finally {
    await release();
  }
}
