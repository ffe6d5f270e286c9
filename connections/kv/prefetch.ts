// Brings what waiting requests need into memory and keeps it there. At most half of memory, making
// room only by what is on the slow tier as well.
import type { Held } from "./held.ts";
import type { KvStore } from "./port.ts";
import type { Counts, Tiers } from "./tiers.ts";

export interface PrefetchOptions {
  tiers: Tiers;
  counts: Counts;
  memoryBytes: number;
  /** null where nothing good is on the slow tier. Evicts nothing that is nowhere else. */
  load(one: Held): Promise<Uint8Array | null>;
}

export function createPrefetch({ tiers, counts, memoryBytes, load }: PrefetchOptions): KvStore["prefetch"] {
  const { held, awaited } = tiers;
  const bytesOf = (entries: Iterable<Held>): number => [...entries].reduce((sum, { entry }) => sum + entry.bytes, 0);
  const known = (keys: Iterable<string>): Held[] => [...keys].flatMap((key) => held.get(key) ?? []);

  function fits(wanted: readonly Held[]): boolean {
    const all = new Set([...known(awaited.keys()), ...wanted]);
    if (bytesOf(all) > memoryBytes / 2) return false;
    // What would be lost stays, and so does what is waited for.
    const staying = [...held.values()].filter(
      (one) => one.blob !== null && ((!one.disk && one.waiting === null) || all.has(one)),
    );
    return bytesOf(new Set([...staying, ...all])) <= memoryBytes;
  }

  return async function prefetch(keys, signal) {
    // A function: the compiler takes a signal that was not aborted for one that never will be.
    const isGivenUp = (): boolean => signal?.aborted ?? false;
    const wanted = known(new Set(keys));
    if (isGivenUp() || !fits(wanted)) return null;
    const taken = wanted.map(({ entry }) => entry.key);
    for (const key of taken) awaited.set(key, (awaited.get(key) ?? 0) + 1);
    let released = false;
    const release = (): void => {
      if (released) return;
      released = true;
      for (const key of taken) {
        const left = (awaited.get(key) ?? 1) - 1;
        if (left > 0) awaited.set(key, left);
        else awaited.delete(key);
      }
    };
    for (const one of wanted) {
      if (isGivenUp()) {
        release();
        return null;
      }
      if (one.blob !== null || held.get(one.entry.key) !== one) continue;
      if ((await load(one)) !== null) counts.prefetched++;
    }
    return release;
  };
}
