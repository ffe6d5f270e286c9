// The servers' logs, opened for append; a full one is copied to `.1` and cut.
import { openSync } from "node:fs";
import { copyFile, mkdir, open, readdir, rename, stat, truncate } from "node:fs/promises";
import { join } from "node:path";

/** Bytes of a log at which it is rotated; one older file is kept. */
const most = 10 * 1_048_576;

export function openLog(file: string): number {
  return openSync(file, "a", 0o600);
}

/** A new start gets new files; the last ones stay as `.1`. */
export async function turnOverAll(folder: string, names: readonly string[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const name of names) {
    const file = join(folder, `${name}.log`);
    await rename(file, `${file}.1`).catch(() => undefined);
  }
}

/** Turns over logs that are too large; lines written meanwhile are lost. */
export async function boundLogs(folder: string, limit = most): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.endsWith(".log")) continue;
    const file = join(folder, name);
    const { size } = await stat(file).catch(() => ({ size: 0 }));
    if (size <= limit) continue;
    await copyFile(file, `${file}.1`);
    await truncate(file);
  }
}

export async function logTail(file: string, lines = 15): Promise<string> {
  try {
    const handle = await open(file, "r");
    try {
      const { size } = await handle.stat();
      const length = Math.min(size, 16_384);
      const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length);
      return buffer.toString("utf8").trimEnd().split("\n").slice(-lines).join("\n");
    } finally {
      await handle.close();
    }
  } catch {
    return "(no log)";
  }
}
