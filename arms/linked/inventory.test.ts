import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { pieceName } from "../../algorithms/identity/identity.ts";
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
    all.map(([kind, id, n], index) => ({
      ...{ kind, id, text: `text ${n}`, configured: false, begin: 2 * index, end: 2 * index + 2 },
    })),
    all.map(([, , n]) => ({ chunk: anEntry(n).chunk })),
    "acme/default",
  ] as const;
const pieceOf = (key: string, n: number): string => pieceName(key, `text ${n}`);
const documentName = (key: string, n: number): string => `document/${pieceOf(key, n)}/${anEntry(n).chunk.slice(0, 16)}`;
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
  const piece = documentName("acme/d", 2);
  const all = [piece, documentName("acme/d", 9), "example/a", "example/b", "example/d"];
  expect(has(found, ...all)).toEqual([piece, "example/a"]);
  await store.put(anEntry(8), blobOf(8));
  await store.remove(anEntry(3).key);
  expect(has(inventory.summary(), ...all)).toEqual([piece, "example/b"]);
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
  const { examples, documents } = inventory.cached();
  expect([...examples].sort()).toEqual(["a", "b"]);
  expect(documents).toEqual([pieceOf("acme/d", 1)]);
  const chunks = inventory.forget({ examples: ["a", "unheard of"], documents: [pieceOf("acme/other", 1)] });
  expect([...chunks]).toEqual([anEntry(2).chunk]);
  // The name is gone, the cache is still there.
  expect(has(inventory.summary(), "example/a", "example/b")).toEqual(["example/b"]);
  expect(await store.forget(chunks)).toBe(1);
  expect(inventory.cached().examples).toEqual(["b"]);
  const piece = documentName("acme/d", 1);
  expect(has(inventory.summary(), piece, "example/a", "example/b")).toEqual([piece, "example/b"]);
});

it("forgets a piece of one tenant's document in every domain, and no other text or tenant's", async () => {
  const store = await aStore({});
  const inventory = await openInventory({ store, folder: null, log });
  for (const n of [1, 2, 3, 4, 5]) await store.put(anEntry(n), blobOf(n));
  /** n: the chunk; of the text of the same number, if no other is said. */
  const seen = (domain: string, id: string, n: number, text = n): void => {
    const [[chunk], keyed] = chunksOf(["document", id, n]);
    inventory.seen([{ ...chunk!, text: `text ${text}` }], keyed, domain);
  };
  seen("acme/default", "guides/a", 1);
  seen("acme/default", "guides/a", 2);
  seen("acme/geo", "guides/a", 3, 1);
  seen("a%2Fb/default", "guides/a", 4, 1);
  seen("acme/default", "guides", 5, 1);
  const former = pieceOf("acme/guides/a", 1);
  const others = [pieceOf("a%2Fb/guides/a", 1), pieceOf("acme/guides", 1), pieceOf("acme/guides/a", 2)];
  expect([...inventory.cached().documents].sort()).toEqual([...others, former].sort());
  const chunks = inventory.forget({ examples: [], documents: [former] });
  expect(chunks).toEqual(new Set([1, 3].map((n) => anEntry(n).chunk)));
  await store.forget(chunks);
  expect([...inventory.cached().documents].sort()).toEqual([...others].sort());
});

it("names again what is forgotten when work that was under way brings its cache back, unless it has a new name", async () => {
  const store = await aStore({});
  const inventory = await openInventory({ store, folder: null, log });
  for (const n of [1, 2]) await store.put(anEntry(n), blobOf(n));
  inventory.seen(...chunksOf(["document", "d", 1], ["example", "a", 2]));
  const gone = { examples: ["a"], documents: [pieceOf("acme/d", 1)] };
  const forget = async (): Promise<number> => store.forget(inventory.forget(gone));
  expect(await forget()).toBe(2);
  expect(inventory.cached()).toEqual({ examples: [], documents: [] });
  // It was made behind the forgotten example.
  await store.put(anEntry(1, [{ chunk: anEntry(2).chunk, tokens: 2 }]), blobOf(1));
  expect(inventory.cached()).toEqual(gone);
  expect(await forget()).toBe(1);
  expect(inventory.cached()).toEqual({ examples: [], documents: [] });
  inventory.seen(...chunksOf(["document", "e", 1]));
  await store.put(anEntry(1), blobOf(1));
  expect(inventory.cached()).toEqual({ examples: [], documents: [pieceOf("acme/e", 1)] });
});

it("writes its names when it can again, and says once that it can't", async () => {
  const folder = await aFolder();
  folders.push(folder);
  const store = await aStore({});
  await store.put(anEntry(1), blobOf(1));
  const warn = vi.fn();
  const gone = join(folder, "gone");
  const inventory = await openInventory({ store, folder: gone, log: { warn } });
  inventory.seen(...chunksOf(["example", "a", 1]));
  for (let pass = 0; pass < 2; pass++) await inventory.save();
  expect(warn).toHaveBeenCalledOnce();
  await mkdir(gone);
  await inventory.save();
  expect((await openInventory({ store, folder: gone, log })).cached().examples).toEqual(["a"]);
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
  expect([...arm.cached().examples].sort()).toEqual(["a", "b", "c"]);
  const gone = arm.forget({ examples: ["b"], documents: [] });
  await arm.save();
  // Another process still has the cache, and no name of it.
  expect([...(await openInventory({ store, folder, log })).cached().examples].sort()).toEqual(["a", "c"]);
  await store.forget(gone);
  expect([...arm.cached().examples].sort()).toEqual(["a", "c"]);
  expect([...(await openInventory({ store, folder, log })).cached().examples].sort()).toEqual(["a", "c"]);
});
