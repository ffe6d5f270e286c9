import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openSaved } from "./saved.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-saved-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it("measures again only what a killed run had not finished, and names the commits of all", async () => {
  const file = join(folder, "made", "papers.jsonl");
  const first = await openSaved(file, "plan", "aaa");
  expect(await first.part("q/0", () => Promise.resolve({ kl: 0.5 }))).toEqual({ kl: 0.5 });
  // Killed in the middle of a line.
  await appendFile(file, '{"settings":"plan","name":"q/1","res');
  const second = await openSaved(file, "plan", "bbb");
  expect(second.count()).toBe(1);
  const never = (): Promise<never> => Promise.reject(new Error("measured twice"));
  expect(await second.part("q/0", never)).toEqual({ kl: 0.5 });
  await second.part("q/1", () => Promise.resolve({ kl: 0.25 }));
  const third = await openSaved(file, "plan", "ccc");
  expect(await third.part("q/1", never)).toEqual({ kl: 0.25 });
  expect(third.commits()).toEqual(["aaa", "bbb"]);
});

it("counts nothing that was measured under other settings", async () => {
  const file = join(folder, "papers.jsonl");
  await (await openSaved(file, "one plan", "aaa")).part("q/0", () => Promise.resolve(1));
  const other = await openSaved(file, "another plan", "aaa");
  expect(other.count()).toBe(0);
  expect(await other.part("q/0", () => Promise.resolve(2))).toBe(2);
  expect((await openSaved(file, "one plan", "aaa")).count()).toBe(1);
});
