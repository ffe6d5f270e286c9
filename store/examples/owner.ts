// One process owns a pool's folder. Its file `owner` names the process by pid, start time and boot, so that what a killed one left behind
// is taken over at once, and a stranger that was given the same pid is not taken for it.
import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { identify, isAlive, type ProcessIdentity } from "../../connections/process/identity.ts";
import { PoolError } from "./port.ts";

const owned = new Set<string>();

/** Gives the folder back when called. Rejects with PoolError folder_in_use while another living process, or another pool of this one, has it. */
export async function takeFolder(path: string): Promise<() => Promise<void>> {
  const folder = resolve(path);
  await mkdir(folder, { recursive: true });
  const file = join(folder, "owner");
  const mine = `${file}.${randomUUID()}`;
  const me = identify(process.pid);
  await writeFile(mine, JSON.stringify(me));
  try {
    // A link is made whole or not at all, and never over another.
    while (!(await isDone(link(mine, file), "EEXIST"))) {
      const other = await readOwner(file);
      const mineAlready = other?.pid === me?.pid && other?.started === me?.started;
      if (other !== null && (mineAlready ? owned.has(folder) : isAlive(other)))
        throw new PoolError(
          "folder_in_use",
          `the example pool in ${folder} is held by process ${other.pid}: end it, or give this one another folder`,
        );
      const left = `${mine}.left`;
      // Of two that take it over at once, one finds nothing here any more, or finds the other one's file: it goes back.
      if (!(await isDone(rename(file, left), "ENOENT"))) continue;
      const taken = await readOwner(left);
      if (taken?.pid !== other?.pid || taken?.started !== other?.started) await isDone(link(left, file), "EEXIST");
      await rm(left, { force: true });
    }
  } finally {
    await rm(mine, { force: true });
  }
  owned.add(folder);
  return async () => {
    owned.delete(folder);
    await rm(file, { force: true });
  };
}

async function isDone(action: Promise<void>, unless: string): Promise<boolean> {
  try {
    await action;
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === unless) return false;
    throw error;
  }
}

async function readOwner(file: string): Promise<ProcessIdentity | null> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as ProcessIdentity;
  } catch {
    return null;
  }
}
