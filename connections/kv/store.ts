// Two-tier store of chunk caches, memory over disk, with byte budgets by value (reuse-value.ts).
// Blobs are whole and verified, or absent; a failed disk leaves memory.
import { addUse, reuseCredit } from "../../algorithms/linked-prefill/reuse-value.ts";
import { type Held, listed } from "./held.ts";
import { variantKey } from "./keys.ts";
import { KvError, type KvStore } from "./port.ts";
import { createPrefetch } from "./prefetch.ts";
import { createTiers, noCounts, type TierOptions } from "./tiers.ts";

export interface KvStoreOptions extends TierOptions {
  format: string;
}

/** Takes in what is on disk; damaged, foreign and surplus files are removed. May reject. */
export async function openKvStore(options: KvStoreOptions): Promise<KvStore> {
  const { format, memoryBytes, disk, diskBytes, clock } = options;
  const counts = { ...noCounts };
  const tiers = createTiers(options, counts);
  const { held, byChunk, names, halfLife } = tiers;
  const loading = new Map<string, Promise<Uint8Array | null>>();
  let closed = false;
  await tiers.readMarks();
  await tiers.keepDisk();

  const view = (one: Held) => listed(one, names.of(one.entry.key), clock(), halfLife);
  const expired = (one: Held): boolean => one.expiresAt !== null && one.expiresAt <= clock();
  const sum = (of: (one: Held) => boolean): number =>
    [...held.values()].reduce((total, one) => total + (of(one) ? one.entry.bytes : 0), 0);

  let isFailing = false;
  /** A folder that fails costs what would be in it, and nothing else. */
  async function tolerating(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      isFailing = false;
    } catch (error) {
      if (!isFailing) options.log.warn({ err: error }, "the folder of chunk caches fails: memory is used without it");
      isFailing = true;
    }
  }

  const put: KvStore["put"] = async (what, blob) => {
    if (closed) throw new KvError("closed", "the store of chunk caches is closed");
    const { key } = what;
    if (key !== variantKey(format, what)) throw new KvError("invalid", `the key ${key} is not that of its content`);
    let there = held.get(key);
    if (there !== undefined && expired(there)) {
      await tiers.discard(key);
      there = undefined;
    }
    if (there !== undefined && (there.entry.impact !== undefined || what.impact === undefined)) return;
    const now = clock();
    if (blob.length > memoryBytes)
      throw new KvError("budget", `a chunk cache of ${blob.length} bytes does not fit into memory (${memoryBytes})`);
    const { value, pinned, expiresAt } = there ?? {
      value: addUse(tiers.ghosts.take(key) ?? { value: 0, at: now }, 1, now, halfLife),
      ...{ pinned: false, expiresAt: null },
    };
    const entry = { ...what, bytes: blob.length, createdAt: now };
    // Also in place of one without a score, whose file stays until this one is written.
    const one: Held = { entry, blob, waiting: null, disk: false, value, pinned, expiresAt };
    tiers.add(one);
    // Before room is made: what is to be written need not stay in memory.
    tiers.writeLater(one, blob);
    tiers.keepMemory();
  };

  function loadOnce(one: Held, sparing = false): Promise<Uint8Array | null> {
    const { key } = one.entry;
    const work = loading.get(key) ?? tiers.load(one, sparing).finally(() => loading.delete(key));
    loading.set(key, work);
    return work;
  }

  const get: KvStore["get"] = async (key) => {
    const one = held.get(key);
    if (closed || one === undefined || expired(one)) {
      counts.misses++;
      return null;
    }
    const bytes = one.blob ?? one.waiting;
    if (bytes !== null) {
      counts.memoryHits++;
      return bytes;
    }
    const blob = await loadOnce(one);
    counts[blob === null ? "misses" : "diskHits"]++;
    return blob;
  };

  const known = (idOrKey: string): Held => {
    const one = held.get(names.keyOf(idOrKey) ?? idOrKey);
    if (one === undefined) throw new KvError("unknown", `there is no chunk cache ${idOrKey}`);
    return one;
  };

  /** It must be on disk, where there is one, to be marked there. */
  async function onDisk(one: Held): Promise<void> {
    await tiers.flush();
    if (disk !== null && !one.disk && one.blob !== null) await tiers.write(one, one.blob);
    if (disk !== null && !one.disk)
      throw new KvError("budget", `chunk cache ${one.entry.key} finds no room on disk (${diskBytes})`);
  }

  return {
    variants: (chunk) =>
      [...(byChunk.get(chunk) ?? [])].flatMap((key) => {
        const one = held.get(key);
        return one === undefined || expired(one) ? [] : [view(one)];
      }),
    get,
    put,
    used(key, cfo) {
      const one = held.get(key);
      if (one === undefined) return;
      one.value = addUse(one.value, reuseCredit(cfo, one.entry.tokens), clock(), halfLife);
    },
    prefetch: createPrefetch({ tiers, counts, memoryBytes, load: (one) => loadOnce(one, true) }),
    async create(id, key) {
      if (id === "" || id.length > 512) throw new KvError("invalid", "an id has 1 to 512 characters");
      const one = known(key);
      await onDisk(one);
      await disk?.name(id, one.entry.key);
      names.set(id, one.entry.key);
    },
    find: (idOrKey) => names.keyOf(idOrKey) ?? (held.has(idOrKey) ? idOrKey : undefined),
    async pin(idOrKey, pinned) {
      const one = known(idOrKey);
      const budget = disk === null ? memoryBytes : diskBytes;
      if (pinned && !one.pinned && sum((other) => other.pinned) + one.entry.bytes > budget / 2)
        throw new KvError("budget", `more than half of the store (${budget} bytes) would be pinned; unpin something`);
      if (pinned) await onDisk(one);
      await disk?.mark(one.entry.key, "pin", pinned ? "" : null);
      one.pinned = pinned;
    },
    async expire(idOrKey, at) {
      const one = known(idOrKey);
      if (at !== null) await onDisk(one);
      await disk?.mark(one.entry.key, "expires", at === null ? null : String(at));
      one.expiresAt = at;
    },
    remove: async (idOrKey) => tiers.discard(known(idOrKey).entry.key),
    list: () => [...held.values()].map(view),
    stats: () => ({
      entries: held.size,
      memoryBytes: sum(({ blob }) => blob !== null),
      diskBytes: sum((one) => one.disk),
      pinnedBytes: sum(({ pinned }) => pinned),
      ...counts,
    }),
    async forget(chunks) {
      const tells = ({ entry: { chunk, prefix } }: Held): boolean =>
        chunks.has(chunk) || prefix.some((before) => chunks.has(before.chunk));
      const keys = [...held].filter(([, one]) => tells(one)).map(([key]) => key);
      for (const key of keys) await tiers.discard(key);
      return keys.length;
    },
    flush: tiers.flush,
    async refresh() {
      await tiers.flush();
      await tolerating(async () => {
        await tiers.readMarks();
        for (const [key, one] of held) {
          if (!expired(one)) continue;
          counts.expired++;
          await tiers.discard(key);
        }
        await tiers.keepDisk();
        tiers.keepMemory();
        await tiers.saveValues();
      });
    },
    async close() {
      if (closed) return;
      closed = true;
      await tiers.flush();
      await tolerating(tiers.saveValues);
    },
  };
}
