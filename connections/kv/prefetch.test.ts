import { rm } from "node:fs/promises";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import type { KvStore } from "./port.ts";
import { aFolder, anEntry, aStore, blobOf } from "./values.testing.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const made of folders.splice(0)) await rm(made, { recursive: true, force: true });
});

/** A folder with entries 0 to count - 1 of ten bytes. */
async function filled(count: number): Promise<string> {
  const root = await aFolder();
  folders.push(root);
  const store = await aStore({ root });
  for (let n = 0; n < count; n++) await store.put(anEntry(n), blobOf(n));
  await store.close();
  return root;
}
/** The reopened store, with an empty memory for `room` entries. */
const opened = (root: string, room: number): Promise<KvStore> => aStore({ root, memoryBytes: 10 * room });
const reopened = async (count: number, room: number): Promise<KvStore> => opened(await filled(count), room);
const keysOf = (...numbers: number[]): string[] => numbers.map((n) => anEntry(n).key);
const inMemory = (store: KvStore): string[] => store.list().flatMap(({ key, memory }) => (memory ? [key] : []));

describe("prefetch", () => {
  it("lets a request that waited find its chunks in memory, whatever else was read meanwhile", async () => {
    const store = await reopened(12, 4);
    const release = await store.prefetch(keysOf(0, 1));
    expect(release).not.toBeNull();
    for (let n = 2; n < 12; n++) {
      store.used(anEntry(n).key, 0);
      await store.get(anEntry(n).key);
    }
    expect(store.stats()).toMatchObject({ prefetched: 2, memoryHits: 0, diskHits: 10, memoryBytes: 40 });
    for (const n of [0, 1]) expect(await store.get(anEntry(n).key)).toEqual(blobOf(n));
    expect(store.stats()).toMatchObject({ memoryHits: 2, diskHits: 10 });
    release?.();
    for (const n of [2, 3, 4, 5]) await store.get(anEntry(n).key);
    // Worth least, they leave now.
    expect(inMemory(store)).not.toEqual(expect.arrayContaining(keysOf(0)));
  });

  it("takes half of memory for all who wait, and gives it back once each", async () => {
    const store = await reopened(12, 4);
    const first = await store.prefetch(keysOf(0, 1));
    // The same for another takes no more room; anything else does.
    const second = await store.prefetch(keysOf(1));
    expect(await store.prefetch(keysOf(2))).toBeNull();
    first?.();
    first?.();
    expect(await store.prefetch(keysOf(2))).not.toBeNull();
    expect(await store.prefetch(keysOf(3))).toBeNull();
    second?.();
    expect(await store.prefetch(keysOf(3))).not.toBeNull();
    expect(store.stats().prefetched).toBe(4);
  });

  it("evicts nothing that is nowhere else, and does nothing for who gave up", async () => {
    // The disk has room for two, which are worth more than all that comes later.
    const root = await aFolder();
    folders.push(root);
    const store = await aStore({ root, memoryBytes: 40, diskBytes: 20 });
    for (const n of [0, 1]) {
      await store.put(anEntry(n), blobOf(n));
      for (let use = 0; use < 9; use++) store.used(anEntry(n).key, 0);
    }
    await store.flush();
    for (let n = 2; n < 8; n++) {
      await store.put(anEntry(n), blobOf(n));
      await store.flush();
    }
    const before = store.list().filter(({ disk }) => !disk);
    expect(before.length).toBeGreaterThan(0);
    await store.prefetch(keysOf(0, 1));
    expect(store.list().filter(({ disk }) => !disk)).toEqual(before);
    expect(await store.prefetch(keysOf(0), AbortSignal.abort())).toBeNull();
  });

  it("leaves what is unknown or damaged to get", async () => {
    const store = await reopened(2, 8);
    expect(await store.prefetch(keysOf(0, 40))).not.toBeNull();
    await store.remove(anEntry(1).key);
    expect(await store.prefetch(keysOf(1))).not.toBeNull();
    expect(store.stats()).toMatchObject({ prefetched: 1, memoryBytes: 10 });
  });

  it("keeps every byte budget and every awaited entry, for any order of calls", async () => {
    const step = fc.oneof(
      fc.record({ what: fc.constant("prefetch" as const), numbers: fc.array(fc.nat(9), { maxLength: 4 }) }),
      fc.record({ what: fc.constant("release" as const), numbers: fc.tuple(fc.nat(9)) }),
      fc.record({ what: fc.constant("get" as const), numbers: fc.tuple(fc.nat(9)) }),
    );
    const root = await filled(10);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.integer({ min: 1, max: 8 }), async (steps, room) => {
        const store = await opened(root, room);
        const kept: { keys: string[]; release: () => void }[] = [];
        for (const { what, numbers } of steps) {
          const keys = keysOf(...numbers);
          if (what === "get") await store.get(keys[0] ?? "");
          else if (what === "release") kept.splice((numbers[0] ?? 0) % (kept.length + 1), 1)[0]?.release();
          else {
            const release = await store.prefetch(keys);
            if (release !== null) kept.push({ keys, release });
          }
          const awaited = new Set(kept.flatMap((one) => one.keys));
          expect(10 * awaited.size).toBeLessThanOrEqual((10 * room) / 2);
          expect(store.stats().memoryBytes).toBeLessThanOrEqual(10 * room);
          expect(inMemory(store)).toEqual(expect.arrayContaining([...awaited]));
        }
      }),
      { numRuns: 30 },
    );
  });
});
