// Looks for the ids of an erasure's requests and examples in the bytes of files. Linear: files are
// read a piece at a time, and whatever looks like an id is looked up.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Subject } from "./subject.ts";
import { overlappingPieces } from "../../connections/lines.ts";

const ids = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32}/g;
/** An id may stand across two pieces. */
const overlap = 40;

/** Files under `folder` that hold one. A file that goes meanwhile holds none. */
export async function filesWith(
  folder: string,
  { requests, examples }: Pick<Subject, "requests" | "examples">,
): Promise<string[]> {
  const wanted = new Set([...[...requests.values()].map(({ id }) => id), ...examples]);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const found: string[] = [];
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    if (await holds(file, wanted)) found.push(file);
  }
  return found;
}

async function holds(file: string, wanted: ReadonlySet<string>): Promise<boolean> {
  for await (const bytes of overlappingPieces(file, overlap))
    for (const [id] of bytes.toString("latin1").matchAll(ids)) if (wanted.has(id)) return true;
  return false;
}
