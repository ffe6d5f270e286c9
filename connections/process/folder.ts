// One process owns a folder, by its file `owner`. What a killed one left is taken over at once.
import { readdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { identify } from "./identity.ts";
import { readHolder, withMutex, writeHolder } from "./lock.ts";

/** By this process; a copied folder brings a holder file along that names it. */
const owned = new Set<string>();

/** The owner's file and the mutex that guards it, drafts of them included. */
const isOwner = (name: string): boolean => /^\.?owner/.test(name);

export type TakenFolder = { giveBack: () => Promise<void>; heldBy?: undefined } | { heldBy: number };

/** heldBy: the living process that has it; this one, where another part of it has. */
export async function takeFolder(path: string, use: string): Promise<TakenFolder> {
  const folder = resolve(path);
  const file = join(folder, "owner");
  const me = identify(process.pid) ?? { pid: process.pid, started: "" };
  const heldBy = await withMutex(folder, "owner", async () => {
    const holder = await readHolder(file);
    if (holder !== undefined && (holder.pid !== me.pid || owned.has(folder))) return holder.pid;
    await writeHolder(file, { ...me, uses: [use] });
    owned.add(folder);
    return undefined;
  });
  if (heldBy !== undefined) return { heldBy };
  return {
    async giveBack() {
      owned.delete(folder);
      await rm(file, { force: true });
    },
  };
}

/** By its owner: everything but what says that it is. */
export async function emptyFolder(folder: string, stays: (name: string) => boolean = () => false): Promise<void> {
  for (const name of await readdir(folder))
    if (!isOwner(name) && !stays(name)) await rm(join(folder, name), { recursive: true, force: true });
}

/** Empties a folder that no living process owns. heldBy: pid of one that does. */
export async function emptyUnowned(folder: string): Promise<{ heldBy: number | undefined }> {
  return withMutex(folder, "owner", async () => {
    const holder = await readHolder(join(folder, "owner"));
    if (holder !== undefined) return { heldBy: holder.pid };
    await emptyFolder(folder);
    await rm(join(folder, "owner"), { force: true });
    return { heldBy: undefined };
  });
}
