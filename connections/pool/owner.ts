// One process owns a pool's folder. Its file `owner` names the process by pid and start time, so that what a killed one left behind
// is taken over at once, and a stranger that was given the same pid is not taken for it.
import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { PoolError } from "./port.ts";

interface Owner {
  pid: number;
  /** Clock ticks since boot; null where there is no /proc. */
  started: string | null;
}

const owned = new Set<string>();

/** Gives the folder back when called. Rejects with PoolError folder_in_use while another living process, or another pool of this one, has it. */
export async function takeFolder(path: string): Promise<() => Promise<void>> {
  const folder = resolve(path);
  await mkdir(folder, { recursive: true });
  const file = join(folder, "owner");
  const mine = `${file}.${randomUUID()}`;
  await writeFile(mine, JSON.stringify({ pid: process.pid, started: startOf(process.pid) ?? null } satisfies Owner));
  try {
    // A link is made whole or not at all, and never over another.
    while (!(await isDone(link(mine, file), "EEXIST"))) {
      const other = await readOwner(file);
      const lives =
        other !== null &&
        (other.pid === process.pid && other.started === startOf(process.pid)
          ? owned.has(folder)
          : startOf(other.pid) !== undefined && startOf(other.pid) === other.started);
      if (lives)
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

async function readOwner(file: string): Promise<Owner | null> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Owner;
  } catch {
    return null;
  }
}

/** undefined: there is no such process. null: it lives, and its start is not known. */
function startOf(pid: number): string | null | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ESRCH") return undefined;
  }
  try {
    // "pid (name) state ppid ... starttime": the name may hold spaces and brackets, so count from the last bracket.
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? undefined : (fields[19] ?? null);
  } catch {
    return null;
  }
}
