import { mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { embeddingModelFolder } from "../../config/assets.ts";
import { embeddingModelState, ensureEmbeddingModel, markMade } from "./embedding-model.ts";
import type { Progress } from "./progress.ts";

let cache: string;
let folder: string;
let lines: string[];
const progress: Progress = { line: (text) => void lines.push(text), task: (_, work) => work(() => undefined) };

beforeEach(async () => {
  lines = [];
  cache = await mkdtemp(join(tmpdir(), "precedent-embedding-"));
  vi.stubEnv("PRECEDENT_CACHE", cache);
  // No Python.
  vi.stubEnv("PATH", cache);
  folder = embeddingModelFolder();
  await mkdir(folder, { recursive: true });
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(cache, { recursive: true });
});
const put = (...files: string[]): Promise<unknown> =>
  Promise.all(files.map((file) => writeFile(join(folder, file), `the bytes of ${file}`)));

test("a model is there when all its files are whole and this program made it", async () => {
  expect(embeddingModelState()).toBe("absent");
  await put("model.onnx");
  expect(embeddingModelState()).toBe("absent");
  await put("tokenizer.json");
  expect(embeddingModelState()).toBe("old");
  await put("model.int8.onnx");
  expect(embeddingModelState()).toBe("old");
  await markMade(folder);
  expect(embeddingModelState()).toBe("there");
  await truncate(join(folder, "model.int8.onnx"), 3);
  expect(embeddingModelState()).toBe("old");
});

test("one that another program made is old, and so is one whose mark is broken", async () => {
  await put("model.onnx", "tokenizer.json", "model.int8.onnx");
  await markMade(folder);
  const mark = join(folder, "made.json");
  const made = await readFile(mark, "utf8");
  await writeFile(mark, made.replace(/"by":"./, '"by":"-'));
  expect(embeddingModelState()).toBe("old");
  for (const broken of ["", "{", "null", made.slice(0, -1)]) {
    await writeFile(mark, broken);
    expect(embeddingModelState()).toBe("old");
  }
});

test("without Python an old model stays and serves, and it is told; without any set-up fails", async () => {
  await put("model.onnx", "tokenizer.json");
  await ensureEmbeddingModel(progress);
  expect(lines).toEqual([expect.stringMatching(/^! embedding model: python3 .*\n {2}Going on with the one/)]);
  expect((await readdir(folder)).sort()).toEqual(["model.onnx", "tokenizer.json"]);
  expect(await readdir(join(cache, "models"))).toEqual(["all-MiniLM-L6-v2"]);

  await rm(folder, { recursive: true });
  await expect(ensureEmbeddingModel(progress)).rejects.toThrow(/python3/);
});
