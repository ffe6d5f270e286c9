import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { bloomHash, mayContain } from "../../algorithms/numeric/bloom.ts";
import { aFolder, anEntry, aStore, blobOf } from "../../connections/kv/values.testing.ts";
import type { ArmInventory } from "../arm.ts";
import { openInventory } from "./inventory.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const made of folders.splice(0)) await rm(made, { recursive: true, force: true });
});
const log = {
  warn: (what: unknown) => {
    throw new Error(JSON.stringify(what));
  },
};
type Kind = "system" | "example" | "document";
const chunksOf = (...all: [kind: Kind, id: string | null, n: number][]) =>
  [
    all.map(([kind, id], index) => ({ kind, id, configured: false, begin: 2 * index, end: 2 * index + 2 })),
    all.map(([, , n]) => ({ chunk: anEntry(n).chunk })),
  ] as const;
const has = ({ bloom, hashes }: ArmInventory, ...names: string[]) =>
  names.filter((name) => mayContain({ bits: bloom, hashes }, bloomHash(name)));

it("names the examples and pieces that have a cache in the store, and those alone", async () => {
  const store = await aStore({});
  const inventory = await openInventory({ store, folder: null, log });
  for (const n of [1, 2, 3, 4]) await store.put(anEntry(n), blobOf(n));
  inventory.seen(
    ...chunksOf(
      ["system", null, 1],
      ["document", "d", 2],
      ["document", "d", 9],
      ["example", "a", 3],
      ["example", "b", 8],
    ),
  );
  const found = inventory.summary();
  expect(found).toMatchObject({ chunks: 2, bytes: 20, reads: { memoryHits: 0, prefetched: 0 } });
  const all = ["document/d/0", "document/d/1", "example/a", "example/b", "example/d"];
  expect(has(found, ...all)).toEqual(["document/d/0", "example/a"]);
  await store.put(anEntry(8), blobOf(8));
  await store.remove(anEntry(3).key);
  expect(has(inventory.summary(), ...all)).toEqual(["document/d/0", "example/b"]);
});

it("knows what it has after a restart, and forgets what it has not seen for the longest time", async () => {
  const folder = await aFolder();
  folders.push(folder);
  const store = await aStore({});
  for (const n of [1, 2, 3]) await store.put(anEntry(n), blobOf(n));
  const first = await openInventory({ store, folder, log, most: 2 });
  first.seen(...chunksOf(["example", "a", 1], ["example", "b", 2]));
  first.seen(...chunksOf(["example", "a", 1]));
  await first.save();
  const second = await openInventory({ store, folder, log, most: 2 });
  expect(second.summary()).toEqual(first.summary());
  second.seen(...chunksOf(["example", "c", 3]));
  expect(has(second.summary(), "example/a", "example/b", "example/c")).toEqual(["example/a", "example/c"]);

  for (const damage of ["[[", '{"a":1}', '[[1,2],["example/a"]]']) {
    await writeFile(join(folder, "names.json"), damage);
    expect((await openInventory({ store, folder, log })).summary().chunks).toBe(0);
  }
});

it("gives the chunks of examples that are to be forgotten, and no longer their names", async () => {
  const store = await aStore({});
  const inventory = await openInventory({ store, folder: null, log });
  for (const n of [1, 2, 3]) await store.put(anEntry(n), blobOf(n));
  inventory.seen(...chunksOf(["document", "d", 1], ["example", "a", 2], ["example", "b", 3], ["example", "c", 9]));
  // c has no cache.
  expect(inventory.examples().sort()).toEqual(["a", "b"]);
  const chunks = inventory.forget(["a", "unheard of"]);
  expect([...chunks]).toEqual([anEntry(2).chunk]);
  expect(inventory.examples()).toEqual(["b"]);
  expect(await store.forget(chunks)).toBe(1);
  expect(has(inventory.summary(), "document/d/0", "example/a", "example/b")).toEqual(["document/d/0", "example/b"]);
});

it("takes in what another process of the folder names, and gives back nothing that is forgotten", async () => {
  const folder = await aFolder();
  folders.push(folder);
  const store = await aStore({});
  for (const n of [1, 2, 3]) await store.put(anEntry(n), blobOf(n));
  const [arm, builder] = [await openInventory({ store, folder, log }), await openInventory({ store, folder, log })];
  arm.seen(...chunksOf(["example", "a", 1]));
  await arm.save();
  builder.seen(...chunksOf(["example", "b", 2]));
  await builder.save();
  arm.seen(...chunksOf(["example", "c", 3]));
  await arm.save();
  expect(arm.examples().sort()).toEqual(["a", "b", "c"]);
  arm.forget(["b"]);
  await arm.save();
  expect(arm.examples().sort()).toEqual(["a", "c"]);
  expect((await openInventory({ store, folder, log })).examples().sort()).toEqual(["a", "c"]);
});
