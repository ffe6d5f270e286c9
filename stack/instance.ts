// Stable id of a stage process, which names its transactional producer; never shared by two.
import { rm, readFile } from "node:fs/promises";
import { join } from "node:path";
import { readHolder, withMutex, writeHolder, writeAtomically } from "../connections/process/lock.ts";
import { self } from "./process.ts";
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";

export interface Instance {
  id: string;
  /** Frees the id. A process that ends without it, by kill -9 too, frees its ids by being dead. */
  release(): Promise<void>;
}

const most = 1000;

/**
 * Takes `id`, or the first free `<stage>-N` under `<folder>/instances`. One process may take an
 * explicit id for several stages. Throws when another one holds it.
 */
export async function acquireInstance(folder: string, stage: string, id?: string): Promise<Instance> {
  const instances = join(folder, "instances");
  return withMutex(instances, "instances", async () => {
    if (id !== undefined) {
      const taken = await take(instances, id, stage);
      if (taken.instance !== undefined) return taken.instance;
      throw new Error(
        `instance "${id}" is already running ${taken.uses.join(", ")} (process ${taken.pid}): stop it, ` +
          `or give this process another instance id`,
      );
    }
    for (let n = 1; n <= most; n++) {
      const slot = `${stage}-${n}`;
      const { instance } = await take(instances, slot, stage);
      if (instance !== undefined) return { ...instance, id: await idOfSlot(instances, slot) };
    }
    throw new Error(`${instances}: ${most} instances of ${stage} are running`);
  });
}

type Taken = { instance: Instance } | { instance?: undefined; pid: number; uses: string[] };

async function take(instances: string, id: string, stage: string): Promise<Taken> {
  const me = self();
  const file = join(instances, id);
  const holder = await readHolder(file);
  const mine = holder?.pid === me.pid;
  if (holder !== undefined && (!mine || holder.uses.includes(stage))) return { pid: holder.pid, uses: holder.uses };
  await writeHolder(file, { ...me, uses: [...(holder?.uses ?? []), stage] });

  let released = false;
  return {
    instance: {
      id,
      async release() {
        if (released) return;
        released = true;
        await withMutex(instances, "instances", async () => {
          const now = await readHolder(file);
          if (now?.pid !== me.pid) return;
          const uses = now.uses.filter((use) => use !== stage);
          if (uses.length === 0) await rm(file, { force: true });
          else await writeHolder(file, { ...now, uses });
        });
      },
    },
  };
}

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
