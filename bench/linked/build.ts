// bench -- linked --only build: what caches before the first request cost, by the code of
// `kv build` and of idle arms, and what share of shown example tokens has one as requests come to
// an empty store.
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { dot } from "../../algorithms/selection/embedding.ts";
import type { LoadedLlama } from "../../arms/llama/load.ts";
import { contextChunks } from "../../arms/linked/context.ts";
import { hubShare } from "../../state/inventory/agenda.ts";
import { modelFile } from "../../config/models.ts";
import { everybody } from "../../connections/kv/keys.ts";
import { fingerprintOf } from "../../connections/llama/model.ts";
import type { Piece } from "../../schemas/types.ts";
import type { BenchContext, Measured } from "../benchmark.ts";
import { loadHelpfulnessData, type Pair } from "../helpfulness/data.ts";
import { neededFile } from "../support/data-file.ts";
import { readLines, shuffled } from "../support/samples.ts";
import { significant } from "../support/statistics.ts";
import { answer, openArm, policyNamed } from "./bench-arm.ts";
import { hitShares } from "./hit-share.ts";
import { examplePieces } from "./prompts.ts";
import { commandSystem } from "./workloads.ts";

const usualModel = "SmolLM2-135M-Instruct";
const usualExamples = 300;
const problemSystem = "Solve the problem step by step. End with #### and the number.";
const examplesShown = 5;
/** Requests of the stream that the model answers, to check the count of tokens by. */
const answered = 20;
const seed = 20_261_128;

export async function runBuild(context: BenchContext): Promise<Measured> {
  const { quick, folder, checkpoints, signal } = context;
  const model = context.model ?? usualModel;
  const count = context.requests ?? (quick ? 3 : usualExamples);
  const path = modelFile(model);
  const arm = { path, fingerprint: await fingerprintOf(path), contextTokens: 4_096, memoryMib: 64 };
  const shared = { folder: join(folder, "..", "helpfulness"), progress: context.progress, data: undefined };
  const data = await loadHelpfulnessData(shared, { train: 0, dev: 1_000 });
  const problems = (await readLines<Pair>(neededFile("gsm8k-train.jsonl"))).map(({ request, response }) => ({
    ...{ request, response },
  }));
  const withArm = async <T>(work: (llama: LoadedLlama) => Promise<T>): Promise<T> => {
    const files = await mkdtemp(join(folder, "build-"));
    const llama = await openArm({ ...arm, folder: files });
    try {
      return await work(llama);
    } finally {
      await llama.close();
      await rm(files, { recursive: true, force: true });
    }
  };
  const pools = [
    {
      ...{ name: "nl2bash", pool: data.pool, system: commandSystem },
      near: (index: number) => hubsOf(data.vectors, index),
    },
    // Which hubs stand before a problem changes the time by their length alone.
    {
      ...{ name: "gsm8k", pool: problems, system: problemSystem },
      near: (index: number) => [1, 2].map((hub) => (index - (index % hubShare) + hub * hubShare) % problems.length),
    },
  ];
  const built = [];
  for (const { name, pool, system, near } of pools)
    built.push(
      await checkpoints.part(`build of ${name}, ${model}, ${count}`, () =>
        withArm(async (llama) => {
          const items = byHub(shuffled([...pool.keys()], seed), near)
            .slice(0, count)
            .map((index) => piecesOf(pool, [...near(index).reverse(), index], system, pool[index]!.request));
          return { pool: name, pool_size: pool.length, ...(await buildAll(llama, items, context, name)) };
        }),
      ),
    );
  const stream = data.dev.map(({ request, candidates }) => ({
    ...{ request, shown: candidates.slice(0, examplesShown).map(({ index }) => index) },
  }));
  const hits = await checkpoints.part(`hit share, ${model}`, () =>
    withArm(async (llama) => {
      const order = shuffled([...data.pool.keys()], seed);
      const lengths = data.pool.map(({ request, response }) => llama.chunked(pair(request, response)).tokens.length);
      const served = await answerAll(llama, data.pool, stream.slice(0, quick ? 2 : answered), signal);
      return {
        hit_share: [0, 0.1, 0.5].map((share) => ({
          built_before: share,
          rows: hitShares(stream, lengths, new Set(order.slice(0, Math.round(share * order.length)))),
        })),
        served,
      };
    }),
  );
  return { part: model === usualModel ? "build" : `build-${model}`, figures: { model, built, ...hits } };
}

const pair = (request: string, response: string): Piece[] => [
  ...examplePieces("a", { request, response }),
  { kind: "turn", id: null, role: "user", text: "" },
];

function piecesOf(pool: readonly Pair[], indices: readonly number[], system: string, question: string): Piece[] {
  return [
    { kind: "system", id: null, role: "system", text: system },
    ...indices.flatMap((index) => examplePieces(String(index), pool[index]!)),
    { kind: "turn", id: null, role: "user", text: question },
  ];
}

/** As state/inventory/agenda.ts, the nearest first. */
function hubsOf(vectors: readonly Float32Array[], index: number): number[] {
  const all = [index];
  const most = index % hubShare === 0 ? 1 : contextChunks;
  while (all.length <= most) {
    const own = vectors[all.at(-1)!]!;
    const similarity = (hub: number): number => (all.includes(hub) ? -1 : dot(own, vectors[hub]!));
    const hubs = Array.from({ length: Math.ceil(vectors.length / hubShare) }, (_, i) => i * hubShare);
    all.push(hubs.reduce((best, hub) => (similarity(hub) > similarity(best) ? hub : best)));
  }
  return all.slice(1);
}

/** As in a build of the whole pool, examples share their hubs: all of one hub, then of another. */
function byHub(order: readonly number[], near: (index: number) => readonly number[]): number[] {
  const groups = new Map<number | undefined, number[]>();
  for (const index of order) {
    const [hub] = near(index);
    groups.set(hub, [...(groups.get(hub) ?? []), index]);
  }
  return [...groups.values()].flat();
}

async function buildAll(
  llama: LoadedLlama,
  items: readonly Piece[][],
  { signal, progress }: Pick<BenchContext, "signal" | "progress">,
  name: string,
) {
  const bar = progress(`caches of ${name}`, items.length, "examples");
  const before = process.cpuUsage();
  const began = performance.now();
  let [caches, tokens] = [0, 0];
  for (const [done, pieces] of items.entries()) {
    signal.throwIfAborted();
    const built = await llama.build(pieces, everybody, signal);
    caches += built.caches;
    tokens += built.tokens;
    bar.update(done + 1);
  }
  await llama.store.flush();
  bar.finish();
  const { user, system } = process.cpuUsage(before);
  const cpu = (user + system) / 1e6;
  const listed = llama.store.list();
  const bytes = listed.reduce((sum, one) => sum + one.bytes, 0);
  const kept = listed.reduce((sum, one) => sum + one.tokens, 0);
  return {
    ...{ examples: items.length, caches, tokens_computed: tokens, tokens_kept: kept },
    ...{ cpu_s: significant(cpu), wall_s: significant((performance.now() - began) / 1_000) },
    ...{ cpu_s_a_cache: significant(cpu / caches), tokens_per_cpu_s: significant(tokens / cpu) },
    ...{ mib: significant(bytes / 1_048_576), bytes_a_token: Math.round(bytes / kept) },
  };
}

/** From an empty store: of all prompts' tokens those found in caches, by the arm's own count. */
async function answerAll(
  llama: LoadedLlama,
  pool: readonly Pair[],
  stream: readonly { request: string; shown: readonly number[] }[],
  signal: AbortSignal,
) {
  let [found, all] = [0, 0];
  for (const { request, shown } of stream) {
    const prompt = llama.model.keyed(
      llama.chunked(piecesOf(pool, [...shown].reverse(), commandSystem, request)),
      everybody,
    );
    const { linked, recomputed, prefilled } = await answer(llama, prompt, policyNamed("last-2"), 1, signal);
    found += linked + recomputed;
    all += linked + recomputed + prefilled;
  }
  return { requests: stream.length, found_share: significant(found / all), prompt_tokens: all };
}
