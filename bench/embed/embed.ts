// bench -- embed: embeddings per CPU second and the latency of one, of our embedder in float32 and
// int8, by batch size and length, beside sentence-transformers and fastembed with the same weights.
// All on one thread, in turns, texts of nl2bash. And what int8 does to results (effect.ts).
import { availableParallelism } from "node:os";
import { embeddingModelFolder } from "../../config/assets.ts";
import { createOnnxEmbedder } from "../../connections/embedder/onnx.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import { precisionFor, type Precision } from "../../connections/embedder/precision.ts";
import { createLog } from "../../runtime/log.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { neededFile } from "../support/data-file.ts";
import { ownCpuSeconds } from "../support/processes.ts";
import { readLines, shuffled } from "../support/samples.ts";
import { mean, median, significant, spread } from "../support/statistics.ts";
import { measureEffect } from "./effect.ts";
import { peerNames, startPeers, type EmbedPeer, type PeerName } from "./peers.ts";

const quick = { texts: 400, one: 60, rounds: 3, each: 100, effect: { pairs: 3_000, repeats: 1, resamples: 200 } };
const full = { texts: 800, one: 100, rounds: 3, each: 300, effect: { pairs: 4_000, repeats: 5, resamples: 2_000 } };
const precisions = ["float32", "int8"] as const;
const batches = [1, 4, 16, 64] as const;
/** Words of a text. */
const lengths = [10, 40, 160] as const;
const usual = 16;

export const embed: Benchmark = {
  name: "embed",
  about: "embeddings per CPU second in float32 and int8, beside other libraries; what int8 does to results",
  run,
};

type Way = Precision | PeerName;

interface Turn {
  perCpuS: number;
  p50Ms: number;
}

async function run(context: BenchContext): Promise<Measured> {
  const plan = context.quick ? quick : full;
  const folder = embeddingModelFolder();
  const lines = await readLines<{ request: string }>(neededFile("nl2bash-train.jsonl"));
  const requests = shuffled(
    lines.map(({ request }) => request),
    2,
  );
  const texts = requests.slice(0, plan.texts);
  const { peers, reasons } = await startPeers(context, folder);
  try {
    const rounds: Partial<Record<Way, Turn>>[] = [];
    const bar = context.progress("embedding", plan.rounds, "rounds");
    for (let round = 0; round < plan.rounds; round++) {
      context.signal.throwIfAborted();
      rounds.push(
        await context.checkpoints.part(`round ${round}`, async () => {
          const turns: Partial<Record<Way, Turn>> = {};
          for (const precision of precisions) turns[precision] = await ownTurn(folder, precision, texts, plan.one);
          for (const [name, peer] of Object.entries(peers) as [PeerName, EmbedPeer][]) {
            const { cpu_s, p50_ms_1 } = await peer.embed(texts, plan.one);
            turns[name] = { perCpuS: texts.length / cpu_s, p50Ms: p50_ms_1 };
          }
          return turns;
        }),
      );
      bar.update(round + 1);
    }
    const turnsOf = (way: Way): Turn[] => rounds.flatMap((round) => round[way] ?? []);
    bar.finish();
    const figures = (of: readonly Turn[]) => ({
      per_cpu_s: significant(median(of.map(({ perCpuS }) => perCpuS))),
      per_cpu_s_range: rangeOf(of.map(({ perCpuS }) => perCpuS)),
      p50_ms_1: significant(median(of.map(({ p50Ms }) => p50Ms))),
    });
    const peer = (figure: "per_cpu_s" | "p50_ms_1") =>
      Object.fromEntries(
        peerNames.map((name) => [name, turnsOf(name).length > 0 ? figures(turnsOf(name))[figure] : null]),
      );
    const ratios = rounds.map(({ float32, int8 }) => int8!.perCpuS / float32!.perCpuS);
    const sizes = await context.checkpoints.part("sizes", () => bySize(folder, requests, plan.each));
    return {
      figures: {
        texts: texts.length,
        words: significant(mean(texts.map((text) => text.split(/\s+/).length)), 3),
        served_here: precisionFor(folder),
        float32: { ...figures(turnsOf("float32")), ...sizes.float32 },
        int8: { ...figures(turnsOf("int8")), ...sizes.int8 },
        ratio_int8: significant(median(ratios)),
        ratio_int8_range: rangeOf(ratios),
        peers: peer("per_cpu_s"),
        peers_p50_ms_1: peer("p50_ms_1"),
        ...(await measureEffect(context, plan.effect)),
        threads: 1,
        cores: availableParallelism(),
      },
      reasons,
    };
  } finally {
    await Promise.all(Object.values(peers).map((one) => one.stop()));
  }
}

const open = (folder: string, precision: Precision, maxBatch: number): Promise<Embedder> =>
  createOnnxEmbedder({
    ...{ folder, precision, threads: 1, maxBatch, cacheEntries: 0 },
    log: createLog({ level: "warn" }),
  });

const rangeOf = (values: readonly number[]): [number, number] => {
  const { minimum, maximum } = spread(values);
  return [significant(minimum), significant(maximum)];
};

async function perCpuSecond(embedder: Embedder, texts: readonly string[]): Promise<number> {
  const before = ownCpuSeconds();
  await embedder.embedAll(texts);
  return texts.length / (ownCpuSeconds() - before);
}

async function ownTurn(folder: string, precision: Precision, texts: readonly string[], one: number): Promise<Turn> {
  const embedder = await open(folder, precision, usual);
  try {
    await embedder.embedAll(texts.slice(0, 64).map((text) => `${text} once`));
    const perCpuS = await perCpuSecond(embedder, texts);
    const alone: number[] = [];
    for (const text of texts.slice(0, one)) {
      const began = performance.now();
      await embedder.embed(text);
      alone.push(performance.now() - began);
    }
    return { perCpuS, p50Ms: median(alone) };
  } finally {
    await embedder.close();
  }
}

/** Embeddings per CPU second by texts in a batch, and by words of a text. */
async function bySize(folder: string, requests: readonly string[], count: number) {
  const words = requests.flatMap((request) => request.split(/\s+/));
  const textsOf = (length: number): string[] =>
    Array.from({ length: Math.ceil((10 * count) / length) }, (_, i) =>
      words.slice(i * length, (i + 1) * length).join(" "),
    );
  const measured: Record<Precision, Record<"by_batch" | "by_words", Record<string, number>>> = {
    float32: { by_batch: {}, by_words: {} },
    int8: { by_batch: {}, by_words: {} },
  };
  const at = async (precision: Precision, maxBatch: number, texts: readonly string[]): Promise<number> => {
    const embedder = await open(folder, precision, maxBatch);
    try {
      await embedder.embedAll(texts.slice(0, 40).map((text) => `${text} once`));
      return significant(await perCpuSecond(embedder, texts));
    } finally {
      await embedder.close();
    }
  };
  for (const size of batches)
    for (const precision of precisions)
      measured[precision].by_batch[size] = await at(precision, size, requests.slice(0, count));
  for (const length of lengths)
    for (const precision of precisions)
      measured[precision].by_words[length] = await at(precision, usual, textsOf(length));
  return measured;
}
