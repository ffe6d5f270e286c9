// The real model in its worker: known vectors, long and strange texts, what is refused, and set-up
// done twice.
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test, type TestContext } from "vitest";
import { embeddingModelFolder } from "../../config/assets.ts";
import { createOnnxEmbedder } from "../../connections/embedder/onnx.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import { precisionFor, type Precision } from "../../connections/embedder/precision.ts";
import { checkEmbeddingModel, knownEmbeddings } from "../../tools/setup/embedding-model.ts";
import type { Progress } from "../../tools/setup/progress.ts";
import { setUp } from "../../tools/setup/setup.ts";

const log = pino({ level: "silent" });
const options = { threads: 1, maxBatch: 8, cacheEntries: 100, log };
const precisions = ["float32", "int8"] as const;
const embedders = {} as Record<Precision, Embedder>;

beforeAll(async () => {
  await setUp({ llama: false, servers: false });
  for (const precision of precisions)
    embedders[precision] = await createOnnxEmbedder({
      ...{ ...options, precision },
      ...{ folder: embeddingModelFolder(), dimension: 384 },
    });
}, 600_000);
afterAll(() => Promise.all(Object.values(embedders).map((one) => one.close())));

const cosine = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);

/** Without its instructions a processor cuts sums of two products off at 16 bits. */
const skipWithoutInt8 = ({ skip }: TestContext): void =>
  skip(precisionFor(embeddingModelFolder()) !== "int8", "int8 is not used on this processor");

test.each(Object.entries(knownEmbeddings))("%s: the numbers of PyTorch to five digits", async (sentence, known) => {
  const vector = await embedders.float32.embed(sentence);
  known.forEach((value, i) => expect(Math.abs((vector[i] ?? NaN) - value)).toBeLessThan(1e-5));
  expect(cosine(vector, vector)).toBeCloseTo(1, 5);
});

test("more texts than a batch holds get their own vectors, whatever order they are computed in", async () => {
  const known = Object.keys(knownEmbeddings);
  const others = Array.from({ length: 40 }, (_, i) => `${"=".repeat((i * 7) % 23)} file ${i}`);
  const vectors = await embedders.float32.embedAll([...others, ...known, ...others]);
  Object.values(knownEmbeddings).forEach((expected, k) =>
    expected.forEach((value, i) =>
      expect(Math.abs((vectors[others.length + k]?.[i] ?? NaN) - value)).toBeLessThan(1e-5),
    ),
  );
  expect(vectors.slice(0, others.length)).toEqual(vectors.slice(others.length + known.length));
});

describe.each(precisions)("%s", (precision) => {
  test("a text gets the same vector alone and in a batch with longer ones", async () => {
    const texts = ["ls", "how do I list files, newest first, with their sizes", "x ".repeat(400)];
    const together = await embedders[precision].embedAll(texts);
    const fresh = await createOnnxEmbedder({ ...options, precision, cacheEntries: 0, folder: embeddingModelFolder() });
    for (const [i, text] of texts.entries())
      expect(cosine(await fresh.embed(text), together[i] ?? new Float32Array())).toBeGreaterThan(0.99999);
    await fresh.close();
  });

  test("texts that mean the same are nearer than others", async (context) => {
    if (precision === "int8") skipWithoutInt8(context);
    const [a, b, c] = await embedders[precision].embedAll([
      "delete a folder",
      "remove a directory",
      "what is the capital of France",
    ]);
    if (a === undefined || b === undefined || c === undefined) throw new Error("a vector is missing");
    expect(cosine(a, b)).toBeGreaterThan(cosine(a, c) + 0.3);
  });

  test("empty, huge and strange texts have vectors of unit length, and only the first 256 tokens count", async () => {
    for (const text of ["", " ", "\u0000\uFFFF", "\uD800", "日本語🎉", "a".repeat(1_000_000)]) {
      const vector = await embedders[precision].embed(text);
      expect(cosine(vector, vector)).toBeCloseTo(1, 4);
    }
    const long = "word ".repeat(300);
    expect(
      cosine(
        await embedders[precision].embed(long),
        await embedders[precision].embed(`${long} and something else entirely`),
      ),
    ).toBeCloseTo(1, 5);
  });
});

test("int8 and float32 may be compared: vectors of one text are near each other, whatever the text", async (context) => {
  skipWithoutInt8(context);
  const usual = [
    ...Object.keys(knownEmbeddings),
    "How do I reverse a linked list in Java?",
    "SELECT * FROM t WHERE x = 1;",
  ];
  const odd = [
    "",
    "the ".repeat(300),
    "A".repeat(400),
    "你好，请帮我写一个函数",
    "🙂🙂🙂🙂",
    "!!!???",
    "1234567890 ".repeat(40),
  ];
  for (const [texts, least] of [
    [usual, 0.98],
    [odd, 0.9],
  ] as const) {
    const [exact, rounded] = [await embedders.float32.embedAll(texts), await embedders.int8.embedAll(texts)];
    texts.forEach((text, i) => expect(cosine(exact[i]!, rounded[i]!), text.slice(0, 40)).toBeGreaterThan(least));
  }
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
