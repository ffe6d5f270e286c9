// The folders of caches that llama arms keep under the stack's folder, opened as they are.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { formatsIn, openDisk } from "../connections/kv/disk.ts";
import type { KvListed, KvStore } from "../connections/kv/port.ts";
import { openKvStore } from "../connections/kv/store.ts";
import { createLog } from "../runtime/log.ts";

/** An arm's, for one model and form of cache. */
export interface KvFolder {
  arm: string;
  format: string;
  path: string;
  store: KvStore;
}
export type KvRow = KvListed & { arm: string };

/** root: of all arms; only: of this arm alone. */
export async function openFolders(root: string, only: string | undefined): Promise<KvFolder[]> {
  const arms = await readdir(root).catch(() => []);
  const log = createLog({ level: "warn" });
  const folders: KvFolder[] = [];
  for (const arm of arms.filter((name) => only === undefined || name === only)) {
    for (const format of await formatsIn(join(root, arm))) {
      const disk = await openDisk(join(root, arm), format);
      // Its budget is the arm's to keep.
      const options = { memoryBytes: 0, diskBytes: Infinity, clock: Date.now, log };
      folders.push({ arm, format, path: join(root, arm), store: await openKvStore({ format, disk, ...options }) });
    }
  }
  return folders;
}

export const rowsOf = (folders: readonly KvFolder[]): KvRow[] =>
  folders.flatMap(({ arm, store }) => store.list().map((row) => ({ arm, ...row })));

export const mebibytes = (bytes: number): number => Number((bytes / 1_048_576).toFixed(1));
