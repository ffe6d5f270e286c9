// Stable id of a stage process, which names its transactional producer; never shared by two.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { idOfSlot } from "./instance-id.ts";
import { readHolder, withMutex, writeHolder } from "../connections/process/lock.ts";
import { self } from "./process.ts";

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
