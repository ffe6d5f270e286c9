// A mutex guards a few file operations between processes. A holder file says which process owns
// something for its life; its dead owner is recognised by pid, start time and boot.
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { lock } from "proper-lockfile";
import { isAlive, type ProcessIdentity } from "./identity.ts";

/** Runs work holding `<folder>/.<name>.lock`; waits up to waitMs. Dead holders: ten seconds. */
export async function withMutex<T>(folder: string, name: string, work: () => Promise<T>, waitMs = 60_000): Promise<T> {
  await mkdir(folder, { recursive: true });
  // The library identifies locks by this path only, so each mutex needs its own; the path need not
  // exist.
  const release = await lock(join(folder, `.${name}`), {
    realpath: false,
    stale: 10_000,
    update: 2_000,
    retries: { retries: Math.ceil(waitMs / 100), factor: 1, minTimeout: 75, maxTimeout: 125, randomize: true },
    // The default throws from a timer. A lock lost through a stopped clock or a deleted folder must
    // not end the process.
    onCompromised: () => undefined,
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ELOCKED") throw error;
    throw new Error(`${folder}: another process has been busy with "${name}" for ${Math.round(waitMs / 1000)} s`);
  });
  try {
    return await work();
  } finally {
    await release().catch(() => undefined);
  }
}

export interface Holder extends ProcessIdentity {
  /** What it is held for; an instance id may serve several stages of one process. */
  uses: string[];
}

/** Who holds the file now, if that process lives. A torn or empty file counts as free. */
export async function readHolder(file: string): Promise<Holder | undefined> {
  let holder: unknown;
  try {
    holder = JSON.parse(await readFile(file, "utf8"));
  } catch {
    return undefined;
  }
  if (!isHolder(holder) || !isAlive(holder)) return undefined;
  return { ...holder, uses: holder.uses ?? [] };
}

export async function writeHolder(file: string, holder: Holder): Promise<void> {
  await writeAtomically(file, JSON.stringify(holder));
}

const writing = new Map<string, Promise<void>>();

/** Readers see the old text or the new one. Of several writes the last called wins. */
export function writeAtomically(file: string, text: string, mode = 0o600): Promise<void> {
  const before = writing.get(file)?.catch(() => undefined);
  const written = (before ?? Promise.resolve()).then(() => replaceFile(file, text, mode));
  const done = (): void => {
    if (writing.get(file) === written) writing.delete(file);
  };
  writing.set(file, written);
  written.then(done, done);
  return written;
}

async function replaceFile(file: string, text: string, mode: number): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.${process.pid}.tmp`;
  try {
    await writeFile(draft, text, { mode });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

function isHolder(value: unknown): value is ProcessIdentity & Partial<Holder> {
  return (
    typeof value === "object" &&
    value !== null &&
    "pid" in value &&
    typeof value.pid === "number" &&
    "started" in value &&
    typeof value.started === "string" &&
    (!("uses" in value) || Array.isArray(value.uses))
  );
}
