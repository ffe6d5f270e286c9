// bench -- archive/linked-scattered: time to the first token with the addon that computes all runs
// of a prompt in one batch (npm run setup -- --scattered), beside the default one, which takes a
// batch a run. A process each, the same caches and prompts, turn by turn.
import { existsSync } from "node:fs";
import { planRecompute, tokensIn } from "../../../algorithms/linked-prefill/link-plan.ts";
import { parsePolicy } from "../../../algorithms/linked-prefill/link-policy.ts";
import { modelFile } from "../../../config/models.ts";
import { createChat } from "../../../connections/llama/chat.ts";
import { scatteredAddonFile } from "../../../connections/llama/library.ts";
import { fingerprintOf, openLlamaModel } from "../../../connections/llama/model.ts";
import type { LlamaContext, Prompt } from "../../../connections/llama/port.ts";
import { connectWorker, type WorkerClient } from "../../../connections/worker/rpc.ts";
import type { BenchContext, Benchmark, Measured } from "../../benchmark.ts";
import { median, significant } from "../../support/statistics.ts";
import { makeCaches } from "../../linked/caches.ts";
import type { Ran, ScatteredInput, ScatteredMethods } from "./scattered-worker.ts";
import type { Item } from "../../linked/prompts.ts";
import { loadWorkloads } from "../../linked/workloads.ts";

interface Asked {
  workload: string;
  requests: number;
  policies: readonly string[];
}

const contextTokens = 4_096;
const policies = ["full", "last-2", "attnlink-4", "attnlink-16"];
const plan: readonly Asked[] = [
  { workload: "nl2bash-10", requests: 3, policies },
  { workload: "nl2bash-20", requests: 2, policies },
  { workload: "musique-200", requests: 2, policies },
];
const quick: readonly Asked[] = [{ workload: "nl2bash-5", requests: 1, policies: ["full", "attnlink-4"] }];
const repeats = 3;

/** One request under one policy: medians of the repeats. */
interface Pair {
  policy: string;
  /** Recomputed tokens of the chunks. */
  recomputed: number;
  runs: number;
  inOrder: Pick<Ran, "cpuMs" | "wallMs">;
  scattered: Pick<Ran, "cpuMs" | "wallMs">;
}

interface ScatteredRow {
  workload: string;
  policy: string;
  n: number;
  recomputed: number;
  /** Runs of computed tokens, median: batches that the default addon takes. */
  runs: number;
  ttft_cpu_ms: number;
  scattered_ttft_cpu_ms: number;
  ttft_ms: number;
  scattered_ttft_ms: number;
  /** CPU time, default over scattered, request by request, median, least and most. */
  ratio: number;
  ratio_range: [number, number];
}

export const linkedScattered: Benchmark = {
  name: "archive/linked-scattered",
  about: "time to first token with the addon that computes all runs of a prompt in one batch, beside the default one",
  run,
};

async function run(context: BenchContext): Promise<Measured> {
  if (!existsSync(scatteredAddonFile)) {
    const why = "the scattered addon is not built here: npm run setup -- --scattered";
    context.note(`skipped: ${why}`);
    return { figures: { scattered: null }, reasons: { scattered: why } };
  }
  const { checkpoints, signal, progress } = context;
  const path = modelFile();
  const model = await openLlamaModel({ path, fingerprint: await fingerprintOf(path) });
  const maker = await model.openContext({ contextTokens, sequences: 1 });
  const workers = [start(path, false), start(path, true)] as const;
  try {
    const [first, second] = await Promise.all(workers.map((worker) => worker.call("open", null)));
    if (first !== false || second !== true)
      throw new Error("the scattered addon is not the one that was loaded, or the default one was not");
    const workloadOf = await loadWorkloads(context, createChat(model), model);
    const rows: ScatteredRow[] = [];
    const asked = context.quick ? quick : plan;
    const bar = progress(
      "requests in order and scattered",
      asked.reduce((sum, { requests }) => sum + requests, 0),
      "requests",
    );
    let done = 0;
    for (const { workload, requests, policies: names } of asked) {
      const pairs: Pair[] = [];
      for (let index = 0; index < requests; index++) {
        signal.throwIfAborted();
        const item = workloadOf(workload).item(index);
        pairs.push(
          ...(await checkpoints.part(`${workload}/${index}`, () => pairsOf(item, names, maker, workers, signal))),
        );
        bar.update(++done);
      }
      rows.push(
        ...names.map((policy) =>
          rowOf(
            workload,
            policy,
            pairs.filter((pair) => pair.policy === policy),
          ),
        ),
      );
    }
    bar.finish();
    return { figures: { scattered: rows } };
  } finally {
    for (const worker of workers) await worker.close();
    await maker.close();
    model.close();
  }
}

const start = (path: string, scattered: boolean): WorkerClient<ScatteredMethods> =>
  connectWorker<ScatteredMethods>({
    name: scattered ? "scattered" : "in order",
    entry: new URL("./scattered-worker.ts", import.meta.url),
    data: { path, contextTokens, scattered } satisfies ScatteredInput,
    isolation: "process",
  });

async function pairsOf(
  item: Item,
  names: readonly string[],
  maker: LlamaContext,
  [inOrder, scattered]: readonly [WorkerClient<ScatteredMethods>, WorkerClient<ScatteredMethods>],
  signal: AbortSignal,
): Promise<Pair[]> {
  const { tokens, chunks } = item;
  const { blobs, chunks: known } = await makeCaches(item, "context", (prompt) => maker.run(prompt, { signal }));
  const links = blobs.map((blob, i) => ({ blob, position: chunks[i]!.begin }));
  const pairs: Pair[] = [];
  for (const name of names) {
    const policy = parsePolicy(name);
    if ("problem" in policy) throw new Error(policy.problem);
    const runs = planRecompute(policy, known);
    const recompute = runs.map(([begin, end]) => ({ begin, end }));
    const prompt: Prompt = name === "full" ? { tokens } : { tokens, links, recompute };
    const taken = { inOrder: [] as Ran[], scattered: [] as Ran[] };
    for (let repeat = 0; repeat < repeats; repeat++) {
      signal.throwIfAborted();
      taken.inOrder.push(await inOrder.call("run", prompt, { signal }));
      taken.scattered.push(await scattered.call("run", prompt, { signal }));
    }
    const [one, other] = [taken.inOrder[0]!, taken.scattered[0]!];
    if (one.runs !== other.runs || one.computed !== other.computed)
      throw new Error(`${name}: the two did not compute the same tokens`);
    pairs.push({
      policy: name,
      recomputed: tokensIn(runs) / (chunks.at(-1)?.end ?? 1),
      runs: one.runs,
      ...{ inOrder: medianOf(taken.inOrder), scattered: medianOf(taken.scattered) },
    });
  }
  return pairs;
}

const medianOf = (ran: readonly Ran[]): Pick<Ran, "cpuMs" | "wallMs"> => ({
  cpuMs: median(ran.map(({ cpuMs }) => cpuMs)),
  wallMs: median(ran.map(({ wallMs }) => wallMs)),
});

function rowOf(workload: string, policy: string, pairs: readonly Pair[]): ScatteredRow {
  const of = (value: (pair: Pair) => number): number => significant(median(pairs.map(value)));
  const ratios = pairs.map(({ inOrder, scattered }) => inOrder.cpuMs / scattered.cpuMs);
  return {
    ...{ workload, policy, n: pairs.length },
    recomputed: of(({ recomputed }) => recomputed),
    runs: of(({ runs }) => runs),
    ttft_cpu_ms: of(({ inOrder }) => inOrder.cpuMs),
    scattered_ttft_cpu_ms: of(({ scattered }) => scattered.cpuMs),
    ttft_ms: of(({ inOrder }) => inOrder.wallMs),
    scattered_ttft_ms: of(({ scattered }) => scattered.wallMs),
    ratio: significant(median(ratios)),
    ratio_range: [significant(Math.min(...ratios)), significant(Math.max(...ratios))],
  };
}
