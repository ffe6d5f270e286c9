// One process owns an example store's folder: its holder file is `owner`. What a killed process
// left behind is taken over at once.
import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { identify } from "../../connections/process/identity.ts";
import { readHolder, withMutex, writeHolder } from "../../connections/process/lock.ts";
import { PoolError } from "./port.ts";

/** By this process; a copied folder brings a holder file along that names it. */
const owned = new Set<string>();

/**
 * Gives the folder back when called. Rejects with PoolError folder_in_use while another living
 * process, or another pool of this one, has it.
 */
export async function takeFolder(path: string): Promise<() => Promise<void>> {
  const folder = resolve(path);
  const file = join(folder, "owner");
  const me = identify(process.pid) ?? { pid: process.pid, started: "" };
  await withMutex(folder, "owner", async () => {
    const holder = await readHolder(file);
    if (holder !== undefined && (holder.pid !== me.pid || owned.has(folder)))
      throw new PoolError(
        "folder_in_use",
        `the example pool in ${folder} is held by process ${holder.pid}: end it, or give this one another folder`,
      );
    await writeHolder(file, { ...me, uses: ["examples"] });
    owned.add(folder);
  });
  return async () => {
    owned.delete(folder);
    await rm(file, { force: true });
  };
}
