import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { beginAnewIfErased, discardPool, erasedFrom } from "./erased.ts";
import { takeFolder } from "./owner.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-erased-"));
  await mkdir(join(folder, "store"));
  await writeFile(join(folder, "store", "data.mdb"), "another's");
  await writeFile(join(folder, "1.index"), "vectors");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const there = async (): Promise<string[]> => (await readdir(folder)).filter((name) => /store|index/.test(name)).sort();
const log = { info: () => undefined };

it("a pool that no process has open is emptied at once, and once more when its topic is compacted", async () => {
  expect(await discardPool(folder, 1_000)).toBe("gone");
  expect(await there()).toEqual([]);
  // Made anew, it has read the record and its tombstone.
  await mkdir(join(folder, "store"));
  await beginAnewIfErased(folder, 999, log);
  expect(await there()).toEqual(["store"]);
  expect(await erasedFrom(folder)).toBe(1_000);
  await beginAnewIfErased(folder, 1_000, log);
  expect(await there()).toEqual([]);
  expect(await erasedFrom(folder)).toBeUndefined();
});

it("one that is open stays, and is emptied by the start after its time", async () => {
  const giveBack = await takeFolder(folder);
  expect(await discardPool(folder, 1_000)).toBe("in use");
  expect(await there()).toEqual(["1.index", "store"]);
  await giveBack();
  await beginAnewIfErased(folder, 2_000, log);
  expect(await there()).toEqual([]);
});

it("one of which nothing was erased is left as it is", async () => {
  await beginAnewIfErased(folder, 2_000, log);
  expect(await there()).toEqual(["1.index", "store"]);
});
