import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { noCheckpoints, openCheckpoints } from "./checkpoints.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-checkpoints-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));
const file = () => join(folder, "deep", "parts.json");

test("a part is computed once, also by the next run", async () => {
  const compute = vi.fn(async () => ({ value: 7 }));
  const first = await openCheckpoints(file(), "a");
  expect(await first.part("one", compute)).toEqual({ value: 7 });
  const second = await openCheckpoints(file(), "a");
  expect(second.count()).toBe(1);
  expect(await second.part("one", compute)).toEqual({ value: 7 });
  expect(compute).toHaveBeenCalledTimes(1);
});

test("other settings and broken files start over", async () => {
  await (await openCheckpoints(file(), "a")).part("one", async () => 1);
  expect((await openCheckpoints(file(), "b")).count()).toBe(0);
  await writeFile(file(), "{");
  expect((await openCheckpoints(file(), "a")).count()).toBe(0);
});

test("a failed part is not kept, a cleared run neither", async () => {
  const checkpoints = await openCheckpoints(file(), "a");
  await expect(checkpoints.part("one", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  await checkpoints.part("two", async () => 2);
  await checkpoints.clear();
  expect((await openCheckpoints(file(), "a")).count()).toBe(0);
});

test("without checkpoints everything is computed", async () => {
  const compute = vi.fn(async () => 1);
  await noCheckpoints.part("one", compute);
  await noCheckpoints.part("one", compute);
  expect(compute).toHaveBeenCalledTimes(2);
});
