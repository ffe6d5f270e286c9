import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { writeAtomically } from "./lock.ts";

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "precedent-lock-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

it("leaves what was written last, however many write at once, and nothing beside it", async () => {
  const file = join(folder, "state.json");
  // Longer texts take longer to write.
  const texts = Array.from({ length: 20 }, (_, i) => String(i).repeat(20 - i));
  await Promise.all(texts.map((text) => writeAtomically(file, text)));
  expect(await readFile(file, "utf8")).toBe(texts.at(-1));
  expect(await readdir(folder)).toEqual(["state.json"]);
});

it("goes on after a write that failed", async () => {
  const file = join(folder, "blocked", "state.json");
  await writeFile(join(folder, "blocked"), "a file where a folder should be");
  const failing = writeAtomically(file, "one");
  await expect(failing).rejects.toThrow();
  await rm(join(folder, "blocked"));
  await writeAtomically(file, "two");
  expect(await readFile(file, "utf8")).toBe("two");
});
