// Inventories of an arm's processes (topic kv-inventory) for selection, as long as they are
// renewed. A wrong one costs some prefill.
import { type BloomFilter, type BloomHash, bloomHash, mayContain } from "../../algorithms/numeric/bloom.ts";
import { cacheName } from "../../algorithms/identity/identity.ts";
import type { KvInventory } from "../../schemas/types.ts";

export interface CacheInventory {
  /** Whether a process of the arm publishes its inventory; without one nothing counts as cached. */
  tells(arm: string): boolean;
  /** Whether a process of the arm has, most likely, the cache of an example. */
  has(arm: string, example: BloomHash): boolean;
}

export interface InventoryTable extends CacheInventory {
  /** Both by the record's key, arm/instance. */
  apply(key: string, inventory: KvInventory): void;
  remove(key: string): void;
}

export const exampleHash = (id: string): BloomHash => bloomHash(cacheName("example", id));

/** An inventory is renewed every `renewMs` and void after `voidMs`; ms. */
export const renewMs = 60_000;
export const voidMs = 180_000;
const mostProcesses = 1_024;

export function createInventoryTable(clock: () => number): InventoryTable {
  const byArm = new Map<string, Map<string, { filter: BloomFilter; at: number }>>();

  function remove(key: string): void {
    for (const [arm, processes] of byArm) {
      processes.delete(key);
      if (processes.size === 0) byArm.delete(arm);
    }
  }

  return {
    remove,
    apply(key, { arm, bloom, hashes, createdAt }) {
      const now = clock();
      for (const processes of byArm.values())
        for (const [key, { at }] of processes) if (now - at >= voidMs) processes.delete(key);
      const processes = byArm.get(arm) ?? new Map<string, { filter: BloomFilter; at: number }>();
      // A clock that is ahead of ours must not make an inventory live for ever.
      if (processes.size < mostProcesses || processes.has(key))
        processes.set(key, { filter: { bits: bloom, hashes }, at: Math.min(createdAt, now) });
      byArm.set(arm, processes);
    },
    tells: (arm) => (byArm.get(arm)?.size ?? 0) > 0,
    has(arm, example) {
      const now = clock();
      for (const { filter, at } of byArm.get(arm)?.values() ?? [])
        if (now - at < voidMs && mayContain(filter, example)) return true;
      return false;
    },
  };
}
