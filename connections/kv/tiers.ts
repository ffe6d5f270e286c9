// The entries of a store and the two tiers that they stand in: what is added, written, loaded,
// evicted. Every change of where an entry stands is made here; store.ts says when.
import type { Logger } from "pino";
import { chooseVictims } from "../../algorithms/linked-prefill/reuse-value.ts";
import type { DiskTier } from "./disk.ts";
import { createGhosts, evictable, type Held } from "./held.ts";
import { createNames } from "./names.ts";
import type { KvStats } from "./port.ts";
import { createWriteBehind } from "./write-behind.ts";

export interface TierOptions {
  memoryBytes: number;
  disk: DiskTier | null;
  diskBytes: number;
  clock: () => number;
  log: Pick<Logger, "warn">;
  /** Milliseconds in which the value of a use halves. Default an hour. */
  halfLife?: number;
  /** Bytes that may wait to be written. Default 64 MiB. */
  mostWaiting?: number;
}

export type Counts = Omit<KvStats, "entries" | "memoryBytes" | "diskBytes" | "pinnedBytes">;
export const noCounts: Readonly<Counts> = {
  ...{ memoryHits: 0, diskHits: 0, misses: 0, prefetched: 0 },
  ...{ evicted: 0, expired: 0, refused: 0, notWritten: 0 },
};

export type Tiers = ReturnType<typeof createTiers>;

export function createTiers(options: TierOptions, counts: Counts) {
  const { memoryBytes, disk, diskBytes, clock, log } = options;
  const { halfLife = 3_600_000, mostWaiting = 64 * 1_048_576 } = options;
  const held = new Map<string, Held>();
  const byChunk = new Map<string, Set<string>>();
  const names = createNames();
  const ghosts = createGhosts();
  /** Keys that stay in memory for requests that wait, and how many of those there are. */
  const awaited = new Map<string, number>();
  const writes = createWriteBehind(mostWaiting, (error) => {
    counts.notWritten++;
    log.warn({ err: error }, "a chunk cache could not be written");
  });
  const candidates = (of: (one: Held) => boolean, pinned: (one: Held) => boolean) =>
    [...held.values()].filter(of).map((one) => evictable(one, pinned(one), clock(), halfLife));

  function add(one: Held): void {
    held.set(one.entry.key, one);
    byChunk.set(one.entry.chunk, (byChunk.get(one.entry.chunk) ?? new Set()).add(one.entry.key));
  }

  function drop(key: string): void {
    const one = held.get(key);
    if (one === undefined) return;
    ghosts.keep(key, one.value);
    held.delete(key);
    const variants = byChunk.get(one.entry.chunk);
    variants?.delete(key);
    if (variants?.size === 0) byChunk.delete(one.entry.chunk);
  }

  async function removeFile(key: string): Promise<void> {
    try {
      await disk?.remove(key);
      for (const id of held.has(key) ? [] : names.of(key)) {
        names.remove(id);
        await disk?.name(id, null);
      }
    } catch (error) {
      log.warn({ err: error, key }, "a chunk cache could not be removed");
    }
  }

  async function discard(key: string): Promise<void> {
    drop(key);
    await removeFile(key);
  }

  /** sparing: what is nowhere else stays, even beyond the budget. */
  function keepMemory(sparing = false): void {
    // What is pinned stays in the store, and where it is on disk that is enough.
    const there = candidates(
      (one) => one.blob !== null,
      (one) =>
        (one.pinned && !one.disk) || awaited.has(one.entry.key) || (sparing && !one.disk && one.waiting === null),
    );
    for (const key of chooseVictims(there, memoryBytes)) {
      const victim = held.get(key);
      if (victim === undefined) continue;
      victim.blob = null;
      if (victim.disk || victim.waiting !== null) continue;
      drop(key);
      counts.evicted++;
    }
  }

  /** Keeps the disk's budget with `wanted` on it; false: `wanted` is worth too little. */
  async function keepDisk(wanted?: Held): Promise<boolean> {
    const there = candidates(
      (one) => one.disk || one === wanted,
      (one) => one.pinned,
    );
    const victims = chooseVictims(there, diskBytes);
    if (wanted !== undefined && victims.includes(wanted.entry.key)) return false;
    for (const key of victims) {
      const victim = held.get(key);
      if (victim === undefined) continue;
      victim.disk = false;
      if (victim.blob === null) {
        drop(key);
        counts.evicted++;
      }
      await removeFile(key);
    }
    return true;
  }

  async function write(one: Held, blob: Uint8Array): Promise<void> {
    const { key } = one.entry;
    try {
      if (disk === null || held.get(key) !== one || one.disk) return;
      if (!(await keepDisk(one))) return;
      await disk.write(one.entry, blob);
      if (held.get(key) === one) one.disk = true;
      // Removed while it was written.
      else if (!held.has(key)) await removeFile(key);
    } finally {
      one.waiting = null;
      if (one.blob === null && !one.disk && held.get(key) === one) drop(key);
    }
  }

  function writeLater(one: Held, blob: Uint8Array): void {
    if (disk === null) return;
    one.waiting = blob;
    if (writes.add(blob.length, () => write(one, blob))) return;
    one.waiting = null;
    counts.notWritten++;
  }

  /** From the slow tier; null where nothing good is there. */
  async function load(one: Held, sparing = false): Promise<Uint8Array | null> {
    const { key } = one.entry;
    const read = await disk?.read(key).catch((error: unknown) => {
      log.warn({ err: error, key }, "a chunk cache can't be read");
      return undefined;
    });
    if (read?.ok !== true) {
      if (read?.ok === false) {
        counts.refused++;
        log.warn({ key, reason: read.reason }, "a chunk cache is no good and was removed");
      }
      // Another one may have come in its place meanwhile.
      if (held.get(key) === one) drop(key);
      return null;
    }
    one.blob = read.value.blob;
    keepMemory(sparing);
    return read.value.blob;
  }

  /** Adds files of the folder that are not in the index yet. */
  async function takeIn(): Promise<void> {
    if (disk === null) return;
    const { entries, refused } = await disk.scan((key) => held.get(key)?.disk === true);
    counts.refused += refused.length;
    for (const one of refused) log.warn(one, "a chunk cache is no good and was removed");
    const values = await disk.readValues();
    for (const entry of entries) {
      const before = held.get(entry.key);
      if (before !== undefined) before.disk = true;
      else
        add({
          ...{ entry, blob: null, waiting: null, disk: true, pinned: false, expiresAt: null },
          value: values.get(entry.key) ?? { value: 1, at: entry.createdAt },
        });
    }
  }

  /** Pins, times and ids as they stand in the folder, and what is gone from it. */
  async function readMarks(): Promise<void> {
    if (disk === null) return;
    // What is written while the folder is read may or may not be seen.
    const before = [...held].filter(([, one]) => one.disk);
    const marks = await disk.marks();
    if ([...marks.keys].some((key) => held.get(key)?.disk !== true)) await takeIn();
    for (const [key] of before) if (!marks.keys.has(key)) drop(key);
    for (const [key, one] of held) {
      if (!one.disk) continue;
      one.pinned = marks.pinned.has(key);
      one.expiresAt = marks.expires.get(key) ?? null;
    }
    names.clear();
    for (const [id, key] of marks.ids) if (held.has(key)) names.set(id, key);
  }

  const saveValues = async (): Promise<void> =>
    disk?.writeValues(new Map([...held].map(([key, { value }]) => [key, value])));

  return {
    ...{
      held,
      byChunk,
      names,
      ghosts,
      awaited,
      add,
      drop,
      discard,
      keepMemory,
      keepDisk,
      write,
      writeLater,
      load,
      readMarks,
    },
    ...{ saveValues, flush: writes.flush, halfLife },
  };
}
