// A pool that held what somebody had erased (precedent forget): LMDB leaves bytes of removed records
// in free pages, and index files hold vectors until they are written again, so the whole folder
// goes. At once where no process has it; else a mark has the next start begin anew, from the topic.
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { takeFolder } from "./owner.ts";
import { PoolError } from "./port.ts";

const mark = "erased";
/** Who has the folder, and how often it was tried to be opened. */
const stays = /^(owner|opening)/;

const empty = async (folder: string): Promise<void> => {
  const entries = (await readdir(folder)).filter((name) => !stays.test(name) && name !== mark);
  for (const name of entries) await rm(join(folder, name), { recursive: true, force: true });
  // Last: broken off, it is done again.
  await rm(join(folder, mark), { force: true });
};

/** By the folder's owner, before it opens anything there. */
export async function beginAnewIfErased(folder: string, log: Logger): Promise<void> {
  if (!(await readdir(folder)).includes(mark)) return;
  log.info({ folder }, "something that the pool held was erased: it is made anew from the topic");
  await empty(folder);
}

/** "gone", or "marked" where a process has it. */
export async function discardPool(folder: string): Promise<"gone" | "marked"> {
  try {
    const giveBack = await takeFolder(folder);
    await empty(folder).finally(giveBack);
    return "gone";
  } catch (error) {
    if (!(error instanceof PoolError) || error.code !== "folder_in_use") throw error;
    await writeFile(join(folder, mark), "");
    return "marked";
  }
}
