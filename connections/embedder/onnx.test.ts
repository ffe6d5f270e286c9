// How onnx.ts lives with its worker, without a model; test/stages/embedding.test.ts has the real
// one.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createOnnxEmbedder, type OnnxEmbedderOptions } from "./onnx.ts";
import type { Embedder } from "./port.ts";

let folder: string;
let embedder: Embedder | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-onnx-"));
  for (const file of ["model.onnx", "tokenizer.json"]) await writeFile(join(folder, file), "");
});
afterEach(async () => {
  await embedder?.close();
  await rm(folder, { recursive: true });
});
const create = async (over: Partial<OnnxEmbedderOptions> = {}): Promise<Embedder> =>
  (embedder = await createOnnxEmbedder({
    folder,
    threads: 3,
    maxBatch: 1,
    cacheEntries: 0,
    log: pino({ level: "silent" }),
    worker: new URL("./worker.testing.ts", import.meta.url),
    pause: { first: 10, limit: 50 },
    ...over,
  }));

test("is named after its folder and has the dimension of its vectors", async () => {
  const made = await create();
  expect(made).toMatchObject({ model: basename(folder), dimension: 2 });
  expect(await made.embed("x")).toEqual(Float32Array.of(1, 3));
});

test("what a crash took with it is embedder_unavailable; then it is back", async () => {
  const made = await create();
  const lost = [made.embed("crash"), made.embed("behind it")];
  for (const one of lost) await expect(one).rejects.toMatchObject({ code: "embedder_unavailable" });
  await expect
    .poll(() => made.embed("again").catch(() => null), { timeout: 20_000, interval: 20 })
    .toEqual(Float32Array.of(1, 3));
});

test("NaN is refused and harms nothing else", async () => {
  const made = await create({ maxBatch: 8 });
  const [nan, fine] = await Promise.allSettled([made.embed("nan"), made.embed("fine")]);
  expect(nan).toMatchObject({ status: "rejected", reason: { code: "not_finite" } });
  expect(fine).toMatchObject({ status: "fulfilled" });
});

test("another dimension than expected, and a worker that can't start, are refused at the start", async () => {
  await expect(create({ dimension: 384 })).rejects.toMatchObject({
    code: "embedder_unavailable",
    message: expect.stringMatching(/2 numbers, expected 384/) as unknown,
  });
  await expect(create({ worker: new URL("./none.ts", import.meta.url) })).rejects.toMatchObject({
    code: "embedder_unavailable",
  });
});
