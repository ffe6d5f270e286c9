import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { createCacheMargin } from "../../algorithms/linked-prefill/cache-margin.ts";
import type { KvStore } from "./port.ts";
import { aFolder, anEntry, aStore, blobOf, format } from "./values.testing.ts";

const roots: string[] = [];
const stores: KvStore[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  for (const made of roots.splice(0)) await rm(made, { recursive: true, force: true });
});
async function aRoot(): Promise<string> {
  const made = await aFolder();
  roots.push(made);
  return made;
}
async function open(options: Parameters<typeof aStore>[0]): Promise<KvStore> {
  const store = await aStore(options);
  stores.push(store);
  return store;
}
const filesIn = async (root: string): Promise<number> =>
  (await readdir(join(root, format))).filter((file) => file.endsWith(".kv")).length;
const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);
async function putAll(store: KvStore, all: readonly number[]): Promise<void> {
  for (const n of all) {
    await store.put(anEntry(n), blobOf(n));
    await store.flush();
  }
}
const has = (store: KvStore, n: number): boolean => store.variants(anEntry(n).chunk).length > 0;

describe("another budget of the slow tier", () => {
  it("shrinks at once by what is worth least, grows as more comes, and holds after a restart", async () => {
    const root = await aRoot();
    const store = await open({ root, memoryBytes: 20, diskBytes: 100 });
    await putAll(store, numbers(0, 10));
    for (const n of [3, 7]) store.used(anEntry(n).key, 1);
    await store.pin(anEntry(0).key, true);
    await store.resize(40);
    expect(await filesIn(root)).toBe(4);
    expect(store.stats().diskBytes).toBe(40);
    for (const n of [0, 3, 7]) expect(has(store, n)).toBe(true);
    await store.close();

    const again = await open({ root, memoryBytes: 20, diskBytes: 40 });
    expect(again.stats().diskBytes).toBe(40);
    await again.resize(80);
    expect(again.stats().diskBytes).toBe(40);
    await putAll(again, numbers(20, 30));
    expect(again.stats().diskBytes).toBe(80);
    expect(await filesIn(root)).toBe(8);
  });

  it("keeps what is pinned, and never takes more than the disk has", async () => {
    const store = await open({ root: await aRoot(), memoryBytes: 20, diskBytes: 100 });
    await putAll(store, [1, 2]);
    await store.pin(anEntry(1).key, true);
    await store.resize(0);
    expect(store.stats()).toMatchObject({ diskBytes: 10, pinnedBytes: 10 });
    await store.resize(Number.MAX_SAFE_INTEGER);
    await putAll(store, [3, 4]);
    expect(store.stats().diskBytes).toBeGreaterThanOrEqual(30);
  });

  it("is no matter of a store in memory alone", async () => {
    const store = await open({});
    await putAll(store, [1]);
    await store.resize(0);
    expect(has(store, 1)).toBe(true);
    expect(store.margin()).toBeNull();
  });
});

describe("what bytes are worth at the margin", () => {
  const margin = () => createCacheMargin({ step: 20, windowMs: 16_000, now: 0 });

  it("counts reads of what a step less would have evicted, by the order before the read", async () => {
    const store = await open({ root: await aRoot(), memoryBytes: 10, diskBytes: 60, margin: margin() });
    await putAll(store, numbers(0, 6));
    // All the others are worth as much, or more since they were read.
    for (const n of numbers(0, 6)) store.used(anEntry(n).key, 1);
    expect(store.margin()!.lossTokens).toBe(6 * 2);
    for (const n of [1, 2]) store.used(anEntry(n).key, 1);
    expect(store.margin()!.lossTokens).toBe(8 * 2);
    // Among the best two.
    store.used(anEntry(1).key, 1);
    expect(store.margin()).toEqual({ gainTokens: 0, lossTokens: 8 * 2, measuredMs: 1_000 });
  });

  it("counts nothing lost while a step less would hold all", async () => {
    const store = await open({ root: await aRoot(), memoryBytes: 10, diskBytes: 60, margin: margin() });
    await putAll(store, numbers(0, 4));
    for (const n of numbers(0, 4)) store.used(anEntry(n).key, 1);
    expect(store.margin()).toMatchObject({ lossTokens: 0, gainTokens: 0 });
  });

  it("counts what was evicted for room and comes back, each once, and not what was removed", async () => {
    const store = await open({ root: await aRoot(), memoryBytes: 10, diskBytes: 30, margin: margin() });
    await putAll(store, [0, 1, 2, 3, 4]);
    expect(store.margin()!.gainTokens).toBe(0);
    const away = numbers(0, 5).filter((n) => !has(store, n));
    expect(away.length).toBeGreaterThanOrEqual(1);
    await store.put(anEntry(away[0]!), blobOf(away[0]!));
    await store.put(anEntry(away[0]!), blobOf(away[0]!));
    expect(store.margin()!.gainTokens).toBe(2);

    const there = numbers(0, 5).find((n) => n !== away[0] && has(store, n))!;
    await store.remove(anEntry(there).key);
    await putAll(store, [there]);
    expect(store.margin()!.gainTokens).toBe(2);
    // Nothing is known yet for another byte budget.
    await store.resize(20);
    expect(store.margin()).toMatchObject({ gainTokens: 0, measuredMs: 0 });
  });
});
