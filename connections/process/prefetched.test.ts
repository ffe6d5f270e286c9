import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { takePrefetched } from "./prefetched.ts";

let cache: string;
beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), "precedent-prefetched-"));
  vi.stubEnv("PRECEDENT_CACHE", cache);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(cache, { recursive: true, force: true });
});
const put = async (name: string): Promise<string> => {
  const folder = join(cache, "prefetched", name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "a.whl"), "wheel");
  return folder;
};

it("moves a complete download, once", async () => {
  await put("a-1.0");
  const target = join(cache, "taken");
  expect(await takePrefetched("a-1.0", target)).toBe(true);
  expect(await readFile(join(target, "a.whl"), "utf8")).toBe("wheel");
  expect(await takePrefetched("a-1.0", target)).toBe(false);
});

it("does not wait where no process writes it, or only one that died", async () => {
  expect(await takePrefetched("a-1.0", join(cache, "taken"))).toBe(false);
  await put("a-1.0.999999999");
  expect(await takePrefetched("a-1.0", join(cache, "taken"))).toBe(false);
});

it("waits for a living process, and gives up after the longest wait", async () => {
  const part = await put(`a-1.0.${process.pid}`);
  const taken = takePrefetched("a-1.0", join(cache, "taken"));
  await rename(part, join(cache, "prefetched", "a-1.0"));
  expect(await taken).toBe(true);
  await put(`b-1.0.${process.pid}`);
  expect(await takePrefetched("b-1.0", join(cache, "other"), 1)).toBe(false);
});
