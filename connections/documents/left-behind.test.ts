import { cp, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { discardDocuments, holdDocumentsOf, isInUse } from "./left-behind.ts";
import { openDocuments } from "./lmdb.ts";
import { documentKey, type DocumentTable } from "./port.ts";

let parent = "";
let table: DocumentTable;
const long = "a tenant whose name is longer than thirty-two bytes";
const tenants = ["acme", "träger", long];
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "precedent-left-behind-"));
  table = await openDocuments(join(parent, "lives"));
  const pieces = ["all about zebrafinches ".repeat(500)];
  const value = (tenant: string) => ({ tenant, id: "guide", title: null, pieces });
  await table.apply(tenants.map((tenant) => ({ key: documentKey(tenant, "guide"), value: value(tenant) })));
});
afterEach(async () => {
  await table.close();
  await rm(parent, { recursive: true, force: true });
});

it("leaves the folder of a living process, and finds whose documents it holds, removed ones included", async () => {
  const folder = join(parent, "lives");
  expect(await isInUse(folder)).toBe(true);
  expect(await discardDocuments(folder)).toBe("in use");
  for (const tenant of tenants) expect([tenant, await holdDocumentsOf(folder, tenant)]).toEqual([tenant, true]);
  for (const other of ["acm", "cme", "acme2", long.slice(0, 40)])
    expect([other, await holdDocumentsOf(folder, other)]).toEqual([other, false]);
  await table.apply([{ key: documentKey("acme", "guide"), value: null }]);
  expect(table.get("acme", "guide")).toBeUndefined();
  expect(await holdDocumentsOf(folder, "acme")).toBe(true);
});

it("removes the folder that a killed process left behind", async () => {
  // As it lies there after kill -9: the owner's file names a process that there is no more.
  const folder = join(parent, "killed");
  await cp(join(parent, "lives"), folder, { recursive: true });
  await writeFile(join(folder, "owner"), JSON.stringify({ pid: 4_194_303, started: "1@gone", uses: ["documents"] }));
  expect(await isInUse(folder)).toBe(false);
  expect(await holdDocumentsOf(folder, "acme")).toBe(true);
  expect(await discardDocuments(folder)).toBe("gone");
  expect(await readdir(parent)).toEqual(["lives"]);
  expect(await holdDocumentsOf(folder, "acme")).toBe(false);
});

it("is opened by one process at a time, and leaves nothing when it is closed", async () => {
  await expect(openDocuments(join(parent, "lives"))).rejects.toThrow(/are held by process/);
  const other = await openDocuments(join(parent, "other"));
  await other.close();
  expect(await readdir(parent)).toEqual(["lives"]);
});

it("finds a name that stands across two pieces of a file", async () => {
  const folder = join(parent, "pieces");
  const other = await openDocuments(folder);
  const name = Buffer.concat([Buffer.from([0xa4]), Buffer.from("beta")]);
  await writeFile(join(folder, "more"), Buffer.concat([Buffer.alloc(1_048_576 - 2), name]));
  expect(await holdDocumentsOf(folder, "beta")).toBe(true);
  await other.close();
});
