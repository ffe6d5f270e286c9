import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { cacheFolder, embeddingModelFolder } from "./assets.ts";
import { defaultModel, fetchedModelFile, modelFile, namedModel, requantisedModelFile } from "./models.ts";

const small = namedModel(defaultModel)!;

test("PRECEDENT_CACHE wins over XDG_CACHE_HOME, which wins over the home folder", () => {
  expect(cacheFolder({ PRECEDENT_CACHE: "/a", XDG_CACHE_HOME: "/b" })).toBe("/a");
  expect(cacheFolder({ PRECEDENT_CACHE: "", XDG_CACHE_HOME: "/b" })).toBe("/b/precedent");
  expect(cacheFolder({})).toMatch(/\.cache\/precedent$/);
});

test("models lie under the cache folder", () => {
  expect(embeddingModelFolder({ PRECEDENT_CACHE: "/a" })).toBe("/a/models/all-MiniLM-L6-v2");
  expect(fetchedModelFile(small, { PRECEDENT_CACHE: "/a" })).toBe(
    "/a/models/SmolLM2-135M-Instruct/SmolLM2-135M-Instruct.Q4_1.gguf",
  );
});

test("the requantised model is taken as soon as it is there", async () => {
  const environment = { PRECEDENT_CACHE: await mkdtemp(join(tmpdir(), "precedent-assets-")) };
  try {
    const requantised = requantisedModelFile(small, environment)!;
    expect(modelFile(undefined, environment)).toBe(fetchedModelFile(small, environment));
    await mkdir(dirname(requantised), { recursive: true });
    await writeFile(requantised, "");
    expect(modelFile(undefined, environment)).toBe(requantised);
  } finally {
    await rm(environment.PRECEDENT_CACHE, { recursive: true });
  }
});
