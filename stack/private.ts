// A stack folder is readable by its owner only: tokens, logs with texts, snapshots, caches.
import { chmod, lstat, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { isMissing } from "../connections/errors.ts";

/** For files that this process and its children make from now on. */
export function keepFilesPrivate(): void {
  process.umask(0o077);
}

/** Makes the folder private with all in it; links are not followed. */
export async function makePrivate(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await tighten(path);
}

async function tighten(path: string): Promise<void> {
  try {
    const found = await lstat(path);
    if (found.isSymbolicLink()) return;
    // The owner's own rights are not changed.
    if ((found.mode & 0o077) !== 0) await chmod(path, found.mode & 0o700);
    if (!found.isDirectory()) return;
    for (const name of await readdir(path)) await tighten(join(path, name));
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
