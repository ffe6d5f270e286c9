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
  expect(process.env["ORT_DISABLE_TELEMETRY"], "onnxruntime's telemetry").toBe("1");
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

test("where int8 can't be loaded float32 takes its place, and the log tells", async () => {
  const int8 = join(folder, "model.int8.onnx");
  await writeFile(int8, "half of it");
  const told: { level: number; graph?: string; msg: string }[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void told.push(JSON.parse(line) as never) });
  const processor = "flags\t: avx512_vnni\n";
  expect(await (await create({ processor, log, workers: 2 })).embed("x")).toEqual(Float32Array.of(1, 3));
  expect(told).toEqual([expect.objectContaining({ level: 50, graph: int8 })]);

  // What was asked for is not replaced; neither is anything where float32 is broken, too.
  const unavailable = { code: "embedder_unavailable", message: expect.stringContaining("is broken") as unknown };
  await embedder?.close();
  await expect(create({ precision: "int8" })).rejects.toMatchObject(unavailable);
  await writeFile(join(folder, "model.onnx"), "half of it");
  await expect(create({ processor })).rejects.toMatchObject(unavailable);
});
