// After `precedent forget` a pool's folder is removed, as LMDB and index files keep bytes. A mark
// says when the topic has compacted the examples away; the first start after rebuilds the pool.
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { emptyFolder } from "../../connections/process/folder.ts";
import { takeFolder } from "./owner.ts";
import { PoolError } from "./port.ts";

const mark = "erased";
/** How often it was tried to be opened stays, too. */
const empty = (folder: string): Promise<void> => emptyFolder(folder, (name) => name === "opening" || name === mark);

/** By the folder's owner, before it opens anything there. now: milliseconds since the epoch. */
export async function beginAnewIfErased(folder: string, now: number, log: Pick<Logger, "info">): Promise<void> {
  const from = await readFile(join(folder, mark), "utf8").catch(() => null);
  if (from === null || Number(from) > now) return;
  log.info({ folder }, "something that the pool held was erased: it is made anew from the topic");
  await empty(folder);
  // Last: broken off, it is done again.
  await rm(join(folder, mark), { force: true });
}

/** from: when the topic holds it no more, milliseconds since the epoch. */
export async function discardPool(folder: string, from: number): Promise<"gone" | "in use"> {
  await writeFile(join(folder, mark), String(from));
  try {
    const giveBack = await takeFolder(folder);
    await empty(folder).finally(giveBack);
    return "gone";
  } catch (error) {
    if (!(error instanceof PoolError) || error.code !== "folder_in_use") throw error;
    return "in use";
  }
}

/** undefined: nothing of it is to be erased any more. */
export async function erasedFrom(folder: string): Promise<number | undefined> {
  const from = await readFile(join(folder, mark), "utf8").catch(() => undefined);
  return from === undefined ? undefined : Number(from);
}
