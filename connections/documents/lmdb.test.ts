import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openDocuments } from "./lmdb.ts";
import { documentKey, type HeldDocument } from "./port.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-documents-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const document = (tenant: string, id: string, text = "text"): HeldDocument => ({
  tenant,
  id,
  title: null,
  pieces: [text],
});
const put = (one: HeldDocument) => ({ key: documentKey(one.tenant, one.id), value: one });

it("holds the newest of each tenant's documents", async () => {
  const table = await openDocuments(join(folder, "a"));
  const long = "long".repeat(1_000);
  await table.apply([put(document("t", "one")), put(document("t", "two", "x")), put(document("u", long))]);
  await table.apply([put(document("t", "one", "newer")), { key: documentKey("t", "two"), value: null }]);
  expect(table.get("t", "one")).toEqual(document("t", "one", "newer"));
  expect(table.get("t", "two")).toBeUndefined();
  expect(table.get("u", long)).toEqual(document("u", long));
  expect(table.get("u", "one")).toBeUndefined();
  await table.close();
});

it("never gives a tenant another's document, however their names are put together", async () => {
  const table = await openDocuments(join(folder, "a"));
  await table.apply([put(document("a/b", "c"))]);
  expect(table.get("a", "b/c")).toBeUndefined();
  expect(table.get("a/b", "c")).toBeDefined();
  // Nor does one take the other's place, on the topic or here.
  await table.apply([put(document("a", "b/c")), { key: documentKey("a%2Fb", "c"), value: null }]);
  expect(table.get("a", "b/c")).toBeDefined();
  expect(table.get("a/b", "c")).toBeDefined();
  await table.apply([{ key: documentKey("a/b", "c"), value: null }]);
  expect(table.get("a", "b/c")).toBeDefined();
  expect(table.get("a/b", "c")).toBeUndefined();
  await table.close();
});

it("has no document that is expired, until it is put again", async () => {
  let now = 100;
  const table = await openDocuments(join(folder, "a"), () => now);
  await table.apply([
    put({ ...document("t", "one"), expiresAt: 200 }),
    put({ ...document("t", "two"), expiresAt: null }),
  ]);
  expect(table.get("t", "one")).toBeDefined();
  now = 200;
  expect(table.get("t", "one")).toBeUndefined();
  expect(table.get("t", "two")).toBeDefined();
  await table.apply([put(document("t", "one"))]);
  expect(table.get("t", "one")).toBeDefined();
  await table.close();
});

it("begins empty, whatever the folder contains", async () => {
  const first = await openDocuments(join(folder, "a"));
  await first.apply([put(document("t", "one"))]);
  await cp(join(folder, "a"), join(folder, "b"), { recursive: true });
  const second = await openDocuments(join(folder, "b"));
  expect(second.get("t", "one")).toBeUndefined();
  await Promise.all([first.close(), second.close()]);
});
