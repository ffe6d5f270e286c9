// How erasure treats folders of documents: a dead process's is removed, a running one's searched
// for the tenant's name, as LMDB leaves bytes in free pages. Linear.
import { readdir, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { emptyUnowned } from "../process/folder.ts";
import { readHolder } from "../process/lock.ts";
import { overlappingPieces } from "../lines.ts";

/** Removes the folder of a process that is dead; "in use": it lives, and nothing was done. */
export async function discardDocuments(folder: string): Promise<"gone" | "in use"> {
  const { heldBy } = await emptyUnowned(folder);
  if (heldBy !== undefined) return "in use";
  // Fails if another process has taken the folder since.
  await rmdir(folder).catch(() => undefined);
  return "gone";
}

/** By a living process. */
export const isInUse = async (folder: string): Promise<boolean> =>
  (await readHolder(join(folder, "owner"))) !== undefined;

/** Whether files of the folder hold a document of the tenant, in pages that are free as well. */
export async function holdDocumentsOf(folder: string, tenant: string): Promise<boolean> {
  const needles = needlesOf(tenant);
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => []))
    if (entry.isFile() && (await holds(join(folder, entry.name), needles))) return true;
  return false;
}

/** A name as MessagePack writes it, with its length in the byte before. */
function needlesOf(tenant: string): Buffer[] {
  const name = Buffer.from(tenant);
  const before = [name.length % 256, ...(name.length < 32 ? [0xa0 + name.length] : [])];
  return before.map((byte) => Buffer.concat([Buffer.from([byte]), name]));
}

async function holds(file: string, needles: readonly Buffer[]): Promise<boolean> {
  for await (const bytes of overlappingPieces(file, Math.max(...needles.map(({ length }) => length))))
    if (needles.some((needle) => bytes.includes(needle))) return true;
  return false;
}
