import { expect, test } from "vitest";
import { cacheFolder, embeddingModelFolder, llamaModelFile } from "./assets.ts";

test("PRECEDENT_CACHE wins over XDG_CACHE_HOME, which wins over the home folder", () => {
  expect(cacheFolder({ PRECEDENT_CACHE: "/a", XDG_CACHE_HOME: "/b" })).toBe("/a");
  expect(cacheFolder({ PRECEDENT_CACHE: "", XDG_CACHE_HOME: "/b" })).toBe("/b/precedent");
  expect(cacheFolder({})).toMatch(/\.cache\/precedent$/);
});

test("models lie under the cache folder", () => {
  expect(embeddingModelFolder({ PRECEDENT_CACHE: "/a" })).toBe("/a/models/all-MiniLM-L6-v2");
  expect(llamaModelFile({ PRECEDENT_CACHE: "/a" })).toBe(
    "/a/models/SmolLM2-135M-Instruct/SmolLM2-135M-Instruct.Q4_1.gguf",
  );
});
