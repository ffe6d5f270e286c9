import { copyFile, mkdir, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { chooseVictims } from "../../algorithms/linked-prefill/reuse-value.ts";
import { describeKvStore } from "./contract.testing.ts";
import { formatsIn, openDisk } from "./disk.ts";
import { formatKey } from "./keys.ts";
import type { KvStore } from "./port.ts";
import { aFolder, anEntry, aStore, blobOf, format } from "./values.testing.ts";

const folders: string[] = [];
async function folder(): Promise<string> {
  const made = await aFolder();
  folders.push(made);
  return made;
}
/** Closed before their folders go: they write behind. */
const stores: KvStore[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  for (const made of folders.splice(0)) await rm(made, { recursive: true, force: true });
});

describeKvStore("store in memory", (options) => aStore(options));
describeKvStore("store with a slow tier", async (options) => {
  const store = await aStore({ root: await folder(), ...options });
  stores.push(store);
  return store;
});

const fileOf = (root: string, n: number): string => join(root, format, `${anEntry(n).key}.kv`);

describe("slow tier", () => {
  it("is found again: blobs, pins, times, ids and values", async () => {
    const root = await folder();
    const first = await aStore({ root });
    const prefix = [{ chunk: anEntry(8).chunk, tokens: 7 }];
    const entry = anEntry(1, prefix, "context");
    await first.put(entry, blobOf(1));
    first.used(entry.key, 0);
    await first.create("id", entry.key);
    await first.pin("id", true);
    await first.expire("id", 5_000);
    const [before] = first.list();
    await first.close();
    const second = await aStore({ root });
    expect(second.list()).toEqual([{ ...before, memory: false }]);
    expect(before).toMatchObject({ value: 3, disk: true, convention: "context", prefix });
    expect(await second.get(entry.key)).toEqual(blobOf(1));
    expect(second.stats()).toMatchObject({ diskHits: 1, refused: 0 });
    expect(await formatsIn(root)).toEqual([format]);
  });

  it("writes a first score into the file, while the former one is written, too", async () => {
    const root = await folder();
    const first = await aStore({ root });
    const impact = { cci: 0.5, inter: [], ranking: [1, 0] };
    const other = await aStore({ root });
    await first.put(anEntry(1), blobOf(1));
    await first.put({ ...anEntry(1), impact }, blobOf(1));
    await first.put(anEntry(2), blobOf(2));
    await first.flush();
    await other.refresh();
    await first.close();
    const second = await aStore({ root });
    for (const store of [other, second]) expect(store.list().map((one) => one.impact)).toEqual([impact, undefined]);
    expect(await second.get(anEntry(1).key)).toEqual(blobOf(1));
    expect(second.stats()).toMatchObject({ diskBytes: 20, refused: 0 });
  });

  it("holds what memory has no room for; prefetch brings it back before it is asked for", async () => {
    const store = await aStore({ root: await folder(), memoryBytes: 20 });
    for (let n = 0; n < 8; n++) await store.put(anEntry(n), blobOf(n));
    await store.flush();
    expect(store.stats()).toMatchObject({ entries: 8, memoryBytes: 20, diskBytes: 80, evicted: 0 });
    const [away] = store.list().filter(({ memory }) => !memory);
    expect(await store.prefetch([away?.key ?? ""])).not.toBeNull();
    await store.get(away?.key ?? "");
    expect(store.stats()).toMatchObject({ prefetched: 1, diskHits: 0, memoryHits: 1 });
    for (let n = 0; n < 8; n++) expect(await store.get(anEntry(n).key)).toEqual(blobOf(n));
  });

  it.each<[string, (file: string) => Promise<unknown>]>([
    ["truncated", (file) => truncate(file, 100)],
    ["empty", (file) => truncate(file, 0)],
    ["longer than it should be", async (file) => writeFile(file, Buffer.concat([await readFile(file), Buffer.of(0)]))],
    ["another program's", (file) => writeFile(file, "not a chunk cache at all")],
    ["under another key", (file) => copyFile(join(dirname(file), `${anEntry(2).key}.kv`), file)],
  ])("refuses a file that is %s, and removes it", async (_how, damage) => {
    const root = await folder();
    const first = await aStore({ root });
    for (const n of [1, 2]) await first.put(anEntry(n), blobOf(n, 40));
    await first.close();
    await damage(fileOf(root, 1));
    const second = await aStore({ root });
    expect(await second.get(anEntry(1).key)).toBeNull();
    expect(await second.get(anEntry(2).key)).toEqual(blobOf(2, 40));
    expect(second.stats()).toMatchObject({ entries: 1, refused: 1 });
    await expect(readFile(fileOf(root, 1))).rejects.toThrow("ENOENT");
    await second.put(anEntry(1), blobOf(1));
    await second.close();
    expect(await (await aStore({ root })).get(anEntry(1).key)).toEqual(blobOf(1));
  });

  it("is brought to its budget when it is opened with a smaller one, the most useful kept", async () => {
    const root = await folder();
    const first = await aStore({ root });
    for (let n = 0; n < 5; n++) await first.put(anEntry(n), blobOf(n));
    for (const n of [1, 3]) first.used(anEntry(n).key, 0);
    await first.close();
    const second = await aStore({ root, diskBytes: 25 });
    stores.push(second);
    expect(second.stats()).toMatchObject({ entries: 2, diskBytes: 20, evicted: 3 });
    expect(await second.get(anEntry(1).key)).toEqual(blobOf(1));
    expect(await second.get(anEntry(3).key)).toEqual(blobOf(3));
    const files = await readdir(join(root, format));
    expect(files.filter((name) => name.endsWith(".kv"))).toHaveLength(2);
  });

  it("refuses a file with any one bit flipped", async () => {
    const root = await folder();
    const store = await aStore({ root });
    await store.put(anEntry(1), blobOf(1));
    await store.close();
    const whole = await readFile(fileOf(root, 1));
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length * 8 - 1), async (bit) => {
        const damaged = Buffer.from(whole);
        damaged[bit >> 3]! ^= 1 << (bit & 7);
        await writeFile(fileOf(root, 1), damaged);
        const opened = await aStore({ root });
        expect(await opened.get(anEntry(1).key)).toBeNull();
        expect(opened.stats()).toMatchObject({ entries: 0, refused: 1 });
      }),
      { numRuns: 60 },
    );
  });

  it("refuses another model's file under this model's folder", async () => {
    const root = await folder();
    const other = formatKey({ build: "b", model: "other", kvType: "f16/f16", flashAttention: true });
    const store = await aStore({ root });
    await store.put(anEntry(1), blobOf(1));
    await store.close();
    await mkdir(join(root, other));
    await copyFile(fileOf(root, 1), join(root, other, `${anEntry(1).key}.kv`));
    const opened = await aStore({ format: other, disk: await openDisk(root, other) });
    expect(opened.list()).toEqual([]);
    expect(opened.stats().refused).toBe(1);
  });

  it("takes in what another process did to the folder", async () => {
    const root = await folder();
    const [one, other] = [await aStore({ root }), await aStore({ root })];
    await one.put(anEntry(1), blobOf(1));
    await one.put(anEntry(2), blobOf(2));
    await one.flush();
    await other.refresh();
    await other.pin(anEntry(1).key, true);
    await other.remove(anEntry(2).key);
    await one.refresh();
    expect(one.list()).toMatchObject([{ key: anEntry(1).key, pinned: true }]);
    expect(await one.get(anEntry(2).key)).toBeNull();
  });

  it("goes on in memory when the disk fails", async () => {
    const disk = await openDisk(await folder(), format);
    const failing = { ...disk, write: () => Promise.reject(new Error("ENOSPC")) };
    const store = await aStore({ disk: failing });
    await store.put(anEntry(1), blobOf(1));
    await store.flush();
    expect(await store.get(anEntry(1).key)).toEqual(blobOf(1));
    expect(store.stats()).toMatchObject({ notWritten: 1, diskBytes: 0 });
  });

  it("goes on, and closes, when the disk is full, and says so once", async () => {
    const disk = await openDisk(await folder(), format);
    const warn = vi.fn();
    const full = { ...disk, writeValues: () => Promise.reject(new Error("ENOSPC")) };
    const store = await aStore({ disk: full, log: { warn } });
    await store.put(anEntry(1), blobOf(1));
    for (let pass = 0; pass < 2; pass++) await store.refresh();
    await store.close();
    expect(store.stats()).toMatchObject({ notWritten: 0, diskBytes: 10 });
    expect(warn).toHaveBeenCalledOnce();
  });

  it("goes on when its folder is removed, and fills it again", async () => {
    const root = await folder();
    const store = await aStore({ root, memoryBytes: 10 });
    stores.push(store);
    for (const n of [1, 2]) await store.put(anEntry(n), blobOf(n));
    await store.flush();
    await rm(root, { recursive: true });
    await store.refresh();
    expect(store.stats()).toMatchObject({ entries: 0, diskBytes: 0 });
    await store.put(anEntry(3), blobOf(3));
    await store.refresh();
    expect(await (await aStore({ root })).get(anEntry(3).key)).toEqual(blobOf(3));
  });

  it("misses what can't be read, and writes it anew", async () => {
    const root = await folder();
    const first = await aStore({ root });
    await first.put(anEntry(1), blobOf(1));
    await first.close();
    const disk = await openDisk(root, format);
    const store = await aStore({ disk: { ...disk, read: () => Promise.reject(new Error("EIO")) } });
    stores.push(store);
    expect(await store.get(anEntry(1).key)).toBeNull();
    expect(store.variants(anEntry(1).chunk)).toEqual([]);
    await store.put(anEntry(1), blobOf(1));
    await store.flush();
    expect(await store.get(anEntry(1).key)).toEqual(blobOf(1));
    expect(store.stats().diskBytes).toBe(10);
  });

  it("is opened beside what can't be read, and beside what a process of its own pid left", async () => {
    const root = await folder();
    const first = await aStore({ root });
    await first.put(anEntry(1), blobOf(1));
    await first.close();
    await mkdir(fileOf(root, 2));
    // In a container each life of a process may have the same pid.
    const left = [`writing-${process.pid}-0`, `writing-${process.pid}-former-0`];
    for (const file of left) await writeFile(join(root, format, file), "cut short");
    const store = await aStore({ root });
    stores.push(store);
    expect(store.list().map(({ key }) => key)).toEqual([anEntry(1).key]);
    expect((await readdir(join(root, format))).filter((file) => file.startsWith("writing"))).toEqual([]);
    await store.put(anEntry(3), blobOf(3));
    await store.refresh();
    expect(store.stats()).toMatchObject({ notWritten: 0, diskBytes: 20, refused: 1 });
  });

  it("reads the headers only of what is new in the folder", async () => {
    const root = await folder();
    const disk = await openDisk(root, format);
    const scan = vi.spyOn(disk, "scan");
    const [one, other] = [await aStore({ disk }), await aStore({ root })];
    for (let n = 0; n < 3; n++) {
      await other.put(anEntry(n), blobOf(n));
      await other.flush();
      await one.refresh();
    }
    expect(one.list()).toHaveLength(3);
    const read = await Promise.all(scan.mock.results.map(({ value }) => value as ReturnType<typeof disk.scan>));
    expect(read.map(({ entries }) => entries.length)).toEqual([1, 1, 1]);
  });

  it("lists many caches with many names in time", async () => {
    const store = await aStore({ memoryBytes: 1_000_000 });
    for (let n = 0; n < 1_000; n++) await store.put(anEntry(n), blobOf(n));
    const cpuOfList = (): number => {
      const before = process.cpuUsage();
      for (let i = 0; i < 5; i++) store.list();
      return process.cpuUsage(before).user / 1_000;
    };
    const unnamed = cpuOfList();
    for (let n = 0; n < 10_000; n++) await store.create(`acme/handbook#${n}`, anEntry(n % 1_000).key);
    expect(store.list()[999]?.ids).toHaveLength(10);
    expect(cpuOfList()).toBeLessThan(20 * unnamed + 100);
  });

  it("has no more waiting to be written than it may", async () => {
    const store = await aStore({ root: await folder(), mostWaiting: 15 });
    for (const n of [1, 2, 3]) await store.put(anEntry(n), blobOf(n));
    await store.flush();
    expect(store.stats()).toMatchObject({ notWritten: 2, diskBytes: 10, memoryBytes: 30 });
  });
});

describe("budgets", () => {
  const operation = fc.oneof(
    fc.record({ kind: fc.constant("put" as const), n: fc.nat(30), bytes: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ kind: fc.constant("used" as const), n: fc.nat(30), cfo: fc.double({ min: 0, max: 1, noNaN: true }) }),
    fc.record({ kind: fc.constant("get" as const), n: fc.nat(30) }),
    fc.record({ kind: fc.constant("pin" as const), n: fc.nat(30), pinned: fc.boolean() }),
    fc.record({ kind: fc.constant("remove" as const), n: fc.nat(30) }),
    fc.record({ kind: fc.constant("refresh" as const) }),
  );

  it("hold for any sequence of calls, and every returned blob is the right one", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 60 }), fc.boolean(), async (operations, withDisk) => {
        let now = 0;
        const root = withDisk ? await folder() : undefined;
        const store = await aStore({ memoryBytes: 100, diskBytes: 200, clock: () => now, ...(root && { root }) });
        const sizes = new Map<number, number>();
        const ignored = (): undefined => undefined;
        for (const step of operations) {
          now += 100;
          if (step.kind === "put") {
            const known = store.find(anEntry(step.n).key) !== undefined;
            if (!known) sizes.set(step.n, step.bytes);
            await store.put(anEntry(step.n), blobOf(step.n, sizes.get(step.n)));
          } else if (step.kind === "used") store.used(anEntry(step.n).key, step.cfo);
          else if (step.kind === "get") {
            const blob = await store.get(anEntry(step.n).key);
            if (blob !== null) expect(blob).toEqual(blobOf(step.n, sizes.get(step.n)));
          } else if (step.kind === "pin") await store.pin(anEntry(step.n).key, step.pinned).catch(ignored);
          else if (step.kind === "remove") await store.remove(anEntry(step.n).key).catch(ignored);
          else await store.refresh();
          const { memoryBytes, diskBytes, pinnedBytes } = store.stats();
          expect(memoryBytes).toBeLessThanOrEqual(100);
          expect(diskBytes).toBeLessThanOrEqual(200);
          expect(pinnedBytes).toBeLessThanOrEqual(withDisk ? 100 : 50);
        }
        await store.close();
      }),
      { numRuns: 40 },
    );
  });

  it("the lowest values leave first, as few as will do, and never what is pinned", () => {
    const entry = fc.record({
      bytes: fc.integer({ min: 1, max: 20 }),
      value: fc.integer({ min: 0, max: 5 }),
      createdAt: fc.nat(5),
      pinned: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 12 }), fc.nat(100), (drawn, budget) => {
        const entries = drawn.map((one, index) => ({ key: String(index).padStart(2, "0"), ...one }));
        const victims = chooseVictims(entries, budget);
        const gone = entries.filter(({ key }) => victims.includes(key));
        const left = entries.filter(({ key }) => !victims.includes(key));
        const bytes = (some: typeof entries): number => some.reduce((sum, one) => sum + one.bytes, 0);
        expect(gone.some(({ pinned }) => pinned)).toBe(false);
        if (bytes(left) > budget) expect(left.every(({ pinned }) => pinned)).toBe(true);
        for (const victim of gone)
          for (const kept of left) if (!kept.pinned) expect(victim.value).toBeLessThanOrEqual(kept.value);
        const last = entries.find(({ key }) => key === victims.at(-1));
        if (last !== undefined) expect(bytes(left) + last.bytes).toBeGreaterThan(budget);
      }),
    );
  });
});

it("leaves nothing half written in its folder", async () => {
  const root = await folder();
  const store = await aStore({ root });
  for (let n = 0; n < 5; n++) await store.put(anEntry(n), blobOf(n));
  await store.close();
  expect((await readdir(join(root, format))).filter((file) => file.startsWith("writing"))).toEqual([]);
});
