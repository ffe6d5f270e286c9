// The real model in its worker: known vectors, long and strange texts, what is refused, and set-up
// done twice.
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { embeddingModelFolder } from "../../config/assets.ts";
import { createOnnxEmbedder } from "../../connections/embedder/onnx.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import { checkEmbeddingModel, knownEmbeddings } from "../../tools/setup/embedding-model.ts";
import type { Progress } from "../../tools/setup/progress.ts";
import { setUp } from "../../tools/setup/setup.ts";

const log = pino({ level: "silent" });
const options = { threads: 1, maxBatch: 8, cacheEntries: 100, log };
let embedder: Embedder;

beforeAll(async () => {
  await setUp({ llama: false, servers: false });
  embedder = await createOnnxEmbedder({ ...options, folder: embeddingModelFolder(), dimension: 384 });
}, 600_000);
afterAll(() => embedder?.close());

const cosine = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);

test.each(Object.entries(knownEmbeddings))("%s: the numbers of PyTorch to five digits", async (sentence, known) => {
  const vector = await embedder.embed(sentence);
  known.forEach((value, i) => expect(Math.abs((vector[i] ?? NaN) - value)).toBeLessThan(1e-5));
  expect(cosine(vector, vector)).toBeCloseTo(1, 5);
});

test("a text gets the same vector alone and in a batch with longer ones", async () => {
  const texts = ["ls", "how do I list files, newest first, with their sizes", "x ".repeat(400)];
  const together = await embedder.embedAll(texts);
  const fresh = await createOnnxEmbedder({ ...options, cacheEntries: 0, folder: embeddingModelFolder() });
  for (const [i, text] of texts.entries())
    expect(cosine(await fresh.embed(text), together[i] ?? new Float32Array())).toBeGreaterThan(0.99999);
  await fresh.close();
});

test("more texts than a batch holds get their own vectors, whatever order they are computed in", async () => {
  const known = Object.keys(knownEmbeddings);
  const others = Array.from({ length: 40 }, (_, i) => `${"=".repeat((i * 7) % 23)} file ${i}`);
  const vectors = await embedder.embedAll([...others, ...known, ...others]);
  Object.values(knownEmbeddings).forEach((expected, k) =>
    expected.forEach((value, i) =>
      expect(Math.abs((vectors[others.length + k]?.[i] ?? NaN) - value)).toBeLessThan(1e-5),
    ),
  );
  expect(vectors.slice(0, others.length)).toEqual(vectors.slice(others.length + known.length));
});

test("texts that mean the same are nearer than others", async () => {
  const [a, b, c] = await embedder.embedAll(["delete a folder", "remove a directory", "what is the capital of France"]);
  if (a === undefined || b === undefined || c === undefined) throw new Error("a vector is missing");
  expect(cosine(a, b)).toBeGreaterThan(cosine(a, c) + 0.3);
});

test("empty, huge and strange texts have vectors of unit length, and only the first 256 tokens count", async () => {
  for (const text of ["", " ", "\u0000\uFFFF", "\uD800", "日本語🎉", "a".repeat(1_000_000)]) {
    const vector = await embedder.embed(text);
    expect(cosine(vector, vector)).toBeCloseTo(1, 4);
  }
  const long = "word ".repeat(300);
  expect(cosine(await embedder.embed(long), await embedder.embed(`${long} and something else entirely`))).toBeCloseTo(
    1,
    5,
  );
});

test("a wrong folder, a broken model and another dimension are refused with what to do", async () => {
  const folder = await mkdtemp(join(tmpdir(), "precedent-embedder-"));
  try {
    await expect(createOnnxEmbedder({ ...options, folder })).rejects.toThrow(
      /model.onnx is not there: run "npm run setup"/,
    );
    await writeFile(join(folder, "model.onnx"), "no model");
    await writeFile(join(folder, "tokenizer.json"), "{}");
    await expect(createOnnxEmbedder({ ...options, folder })).rejects.toMatchObject({ code: "embedder_unavailable" });
    await expect(checkEmbeddingModel(folder)).rejects.toMatchObject({ code: "embedder_unavailable" });
  } finally {
    await rm(folder, { recursive: true });
  }
  await expect(createOnnxEmbedder({ ...options, folder: embeddingModelFolder(), dimension: 768 })).rejects.toThrow(
    /384 numbers, expected 768/,
  );
});

test("set-up again, twice at once: one waits for the other, and nothing is made again", async () => {
  const before = await stat(join(embeddingModelFolder(), "model.onnx"));
  const lines: string[] = [];
  const progress: Progress = {
    line: (text) => void lines.push(text),
    task: (title) => Promise.reject(new Error(`${title} must be there already`)),
  };
  await Promise.all([1, 2].map(() => setUp({ llama: false, servers: false, progress })));
  expect(lines.filter((line) => line === "✓ embedding model: there").length).toBe(2);
  const after = await stat(join(embeddingModelFolder(), "model.onnx"));
  expect(after).toMatchObject({ mtimeMs: before.mtimeMs, ino: before.ino });
});
