// Documents in LMDB, off the heap. A cache of the topic: emptied at the start (tombstones may be
// compacted away), it may lose its last writes in a crash.
import { hash } from "node:crypto";
import { rmdir } from "node:fs/promises";
import { open } from "lmdb";
import { commitFailure, withoutBatches } from "../lmdb/errors.ts";
import { emptyFolder, takeFolder } from "../process/folder.ts";
import { documentKey, type DocumentTable, type HeldDocument } from "./port.ts";

/** LMDB's keys are short; ids need not be. */
const short = (key: string): string => hash("sha256", key, "base64");

/** `folder` is this process's own, and emptied; throws when another living process has it. */
export async function openDocuments(folder: string, clock: () => number = Date.now): Promise<DocumentTable> {
  const owner = await takeFolder(folder, "documents");
  if (owner.heldBy !== undefined)
    throw new Error(
      `the documents in ${folder} are held by process ${owner.heldBy}: end it, or give this one another folder`,
    );
  await emptyFolder(folder);
  const database = open<HeldDocument, string>({ ...withoutBatches, path: folder, noSync: true });
  return {
    get(tenant, id) {
      const found = database.get(short(documentKey(tenant, id)));
      // A key on the topic is what its producer made it.
      const isOwn = found?.tenant === tenant && found.id === id;
      return isOwn && clock() < (found.expiresAt ?? Infinity) ? found : undefined;
    },
    async apply(changes) {
      const writeAll = (): void => {
        for (const { key, value } of changes)
          void (value === null ? database.remove(short(key)) : database.put(short(key), value));
      };
      await database.transaction(writeAll).catch(async (error: unknown) => {
        throw await commitFailure(error, "the documents");
      });
    },
    async close() {
      await database.close();
      await emptyFolder(folder);
      await owner.giveBack();
      // Fails if another process has taken the folder since.
      await rmdir(folder).catch(() => undefined);
    },
  };
}
