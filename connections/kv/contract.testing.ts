// The test that every store of chunk caches passes; called with and without a slow tier.
import { describe, expect, it } from "vitest";
import type { KvStore } from "./port.ts";
import type { KvStoreOptions } from "./store.ts";
import { anEntry, blobOf } from "./values.testing.ts";

export function describeKvStore(name: string, open: (options?: Partial<KvStoreOptions>) => Promise<KvStore>): void {
  describe(name, () => {
    it("gives back what was put, and nothing for what was not", async () => {
      const store = await open();
      await store.put(anEntry(1), blobOf(1));
      expect(await store.get(anEntry(1).key)).toEqual(blobOf(1));
      expect(await store.get(anEntry(2).key)).toBeNull();
      await store.put(anEntry(1), blobOf(9));
      expect(await store.get(anEntry(1).key)).toEqual(blobOf(1));
      await store.flush();
      expect(store.stats()).toMatchObject({ entries: 1, memoryBytes: 10, memoryHits: 2, misses: 1 });
    });

    it("takes a first score of what it has, and keeps its value, pin and name", async () => {
      const store = await open();
      const scored = { ...anEntry(1), impact: { cci: 0.5, inter: [], ranking: [1, 0] } };
      await store.put(anEntry(1), blobOf(1));
      store.used(anEntry(1).key, 1);
      await store.create("id", anEntry(1).key);
      await store.pin("id", true);
      const [before] = store.list();
      await store.put(scored, blobOf(2));
      await store.put({ ...scored, impact: { ...scored.impact, cci: 0.75 } }, blobOf(3));
      await store.put(anEntry(1), blobOf(4));
      await store.refresh();
      expect(store.list()).toEqual([{ ...before, impact: scored.impact }]);
      expect(await store.get(anEntry(1).key)).toEqual(blobOf(2));
    });

    it("keeps variants of a chunk apart, by what stood before them", async () => {
      const store = await open();
      const alone = anEntry(1, [], "alone");
      const behind = anEntry(1, [{ chunk: anEntry(5).chunk, tokens: 2 }]);
      expect(alone.key).not.toBe(behind.key);
      await store.put(alone, blobOf(1));
      await store.put(behind, blobOf(2));
      expect(store.variants(alone.chunk).map(({ key }) => key)).toEqual([alone.key, behind.key]);
      expect(store.variants(anEntry(2).chunk)).toEqual([]);
    });

    it("forgets chunks: all their variants, pinned or not, and what was made behind them", async () => {
      const store = await open();
      const behind = anEntry(2, [{ chunk: anEntry(1).chunk, tokens: 2 }]);
      for (const entry of [anEntry(1), anEntry(1, [], "alone"), behind, anEntry(2), anEntry(3)])
        await store.put(entry, blobOf(1));
      await store.pin(anEntry(1).key, true);
      expect(await store.forget(new Set([anEntry(1).chunk]))).toBe(3);
      await store.flush();
      expect(await store.get(behind.key)).toBeNull();
      expect(
        store
          .list()
          .map(({ key }) => key)
          .sort(),
      ).toEqual([anEntry(2).key, anEntry(3).key].sort());
      await store.refresh();
      expect(store.stats().entries).toBe(2);
    });

    it("evicts what is worth least, not what was used last", async () => {
      // If two entries have no value, the older one is evicted.
      let now = 0;
      const store = await open({ memoryBytes: 30, diskBytes: 30, clock: () => ++now });
      for (const n of [1, 2, 3]) await store.put(anEntry(n), blobOf(n));
      store.used(anEntry(1).key, 0); // 1/max(0, 1/2) = 2
      store.used(anEntry(3).key, 0.9);
      await store.put(anEntry(2), blobOf(2)); // put again: no use
      store.used(anEntry(3).key, 0.9);
      for (let n = 10; n < 13; n++) {
        await store.put(anEntry(n), blobOf(n));
        await store.refresh();
      }
      const left = store.list().map(({ key }) => key);
      expect(left).toEqual(expect.arrayContaining([anEntry(1).key, anEntry(3).key]));
      expect(left).not.toContain(anEntry(2).key);
    });

    it("lets uses fade: what was popular goes before what is", async () => {
      let now = 0;
      const store = await open({ memoryBytes: 20, diskBytes: 20, clock: () => now, halfLife: 1_000 });
      await store.put(anEntry(1), blobOf(1));
      for (let i = 0; i < 100; i++) store.used(anEntry(1).key, 0);
      now = 10_000;
      await store.put(anEntry(2), blobOf(2));
      await store.put(anEntry(3), blobOf(3));
      await store.refresh();
      expect(store.list().map(({ key }) => key)).toEqual([anEntry(2).key, anEntry(3).key]);
    });

    it("goes on from the value that something evicted had", async () => {
      const store = await open({ memoryBytes: 10, diskBytes: 10 });
      await store.put(anEntry(1), blobOf(1));
      store.used(anEntry(1).key, 1);
      await store.flush();
      for (let i = 0; i < 3; i++) {
        await store.put(anEntry(2), blobOf(2));
        await store.refresh();
      }
      expect(store.list().map(({ key }) => key)).toEqual([anEntry(2).key]);
    });

    it("keeps what is pinned, and pins no more than half", async () => {
      const store = await open({ memoryBytes: 30, diskBytes: 30 });
      await store.put(anEntry(1), blobOf(1));
      await store.put(anEntry(2), blobOf(2));
      await store.pin(anEntry(1).key, true);
      await expect(store.pin(anEntry(2).key, true)).rejects.toMatchObject({ code: "budget" });
      for (let n = 3; n < 9; n++) {
        await store.put(anEntry(n), blobOf(n));
        store.used(anEntry(n).key, 0);
        await store.refresh();
      }
      expect(await store.get(anEntry(1).key)).toEqual(blobOf(1));
      await store.pin(anEntry(1).key, false);
      expect(store.list().filter(({ pinned }) => pinned)).toEqual([]);
    });

    it("names entries: create, get, pin, expire, remove", async () => {
      let now = 1_000;
      const store = await open({ clock: () => now });
      await store.put(anEntry(1), blobOf(1));
      await store.create("handbook", anEntry(1).key);
      expect(store.find("handbook")).toBe(anEntry(1).key);
      await store.pin("handbook", true);
      await store.expire("handbook", 2_000);
      expect(store.list()).toMatchObject([{ ids: ["handbook"], pinned: true, expiresAt: 2_000 }]);
      expect(await store.get(anEntry(1).key)).not.toBeNull();
      now = 2_000;
      expect(await store.get(anEntry(1).key)).toBeNull();
      expect(store.variants(anEntry(1).chunk)).toEqual([]);
      await store.put(anEntry(1), blobOf(1));
      expect(await store.get(anEntry(1).key)).toEqual(blobOf(1));
      await store.remove(anEntry(1).key);
      await expect(store.remove("handbook")).rejects.toMatchObject({ code: "unknown" });
      expect(store.stats().entries).toBe(0);
    });

    it("refuses what can't fit, a key that is not its content's, an impossible id, and everything once closed", async () => {
      const store = await open();
      await expect(store.put(anEntry(1), blobOf(1, 101))).rejects.toMatchObject({ code: "budget" });
      await expect(store.put({ ...anEntry(1), key: anEntry(2).key }, blobOf(1))).rejects.toMatchObject({
        code: "invalid",
      });
      await store.put(anEntry(1), blobOf(1));
      await expect(store.create("", anEntry(1).key)).rejects.toMatchObject({ code: "invalid" });
      await expect(store.create("id", anEntry(2).key)).rejects.toMatchObject({ code: "unknown" });
      await store.close();
      await expect(store.put(anEntry(3), blobOf(3))).rejects.toMatchObject({ code: "closed" });
      expect(await store.get(anEntry(1).key)).toBeNull();
    });
  });
}
