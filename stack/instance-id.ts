// Default instance ids "<slot>-<host>-<random>", stored beside the slot, so that a restart ends its
// predecessor's transaction. A folder copied to another host draws anew.
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { writeAtomically } from "../connections/process/lock.ts";

/** A host name as part of a transactional id, a folder and a metric. */
export const hostPart = (host: string): string =>
  host
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 40)
    .replace(/^-|-$/g, "") || "host";

/** The stored id of a slot on this machine, or a new one. The slot must be held. */
export async function idOfSlot(instances: string, slot: string, host = hostname()): Promise<string> {
  const file = join(instances, `${slot}.id`);
  const prefix = `${slot}-${hostPart(host)}-`;
  const kept = (await readFile(file, "utf8").catch(() => "")).trim();
  if (kept.startsWith(prefix) && /^[0-9a-f]{8}$/.test(kept.slice(prefix.length))) return kept;
  const id = prefix + randomBytes(4).toString("hex");
  await writeAtomically(file, `${id}\n`);
  return id;
}
