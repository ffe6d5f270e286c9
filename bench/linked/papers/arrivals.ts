// bench -- linked --only arrivals: EPIC's RQ2. Requests over four passages arrive at random; of
// each prompt's passages none to all have a cache. CPU times are measured one request at a time,
// the queue in front of the arm is simulated (queue.ts).
import { hash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { planRecompute } from "../../../algorithms/linked-prefill/link-plan.ts";
import { splitmix64 } from "../../../algorithms/numeric/random.ts";
import { modelFile, namedModel } from "../../../config/models.ts";
import { createChat } from "../../../connections/llama/chat.ts";
import { fingerprintOf, openLlamaModel } from "../../../connections/llama/model.ts";
import type { LlamaContext, Prompt } from "../../../connections/llama/port.ts";
import type { BenchContext, Measured } from "../../benchmark.ts";
import { pairedBootstrap } from "../../support/bootstrap.ts";
import { commit } from "../../support/machine.ts";
import { mean, significant } from "../../support/statistics.ts";
import { shuffled } from "../../support/samples.ts";
import { policyNamed } from "../bench-arm.ts";
import { makeCaches } from "../caches.ts";
import type { Item } from "../prompts.ts";
import { loadQuestions } from "./questions.ts";
import { firstTokens, type Service } from "./queue.ts";
import { openSaved } from "./saved.ts";

const usualModel = "SmolLM2-135M-Instruct";
const usualQuestions = 10;
/** EPIC's, where it was measured under load. */
const policy = "attnlink-16";
const reuses = [0, 0.25, 0.5, 0.75, 1];
/** Shares of the requests a CPU second that full prefill could answer. */
const loads = [0.25, 0.5, 0.8, 1.5, 4];
const stream = { requests: 100, streams: 200, seed: 20_261_127 };
const results = fileURLToPath(new URL("../../results", import.meta.url));

/** By how many of the passages had a cache; "full": no link and no export. */
type Services = Record<string, Service>;

export async function runArrivals(context: BenchContext): Promise<Measured> {
  const { signal, data, quick, note, progress } = context;
  const model = context.model ?? usualModel;
  const count = context.requests ?? (quick ? 1 : usualQuestions);
  const file = `${quick ? context.folder : results}/linked-arrivals-${namedModel(model)?.name ?? "model"}.jsonl`;
  // A hash, since the file is in the tree and paths of machines are not.
  const settings = JSON.stringify({ model, data: data === undefined ? null : hash("sha256", data), policy, reuses });
  const saved = await openSaved(file, settings, commit());
  const path = modelFile(model);
  const opened = await openLlamaModel({ path, fingerprint: await fingerprintOf(path) });
  const measured: Services[] = [];
  const bar = progress("requests at every share of cached passages", count, "requests");
  try {
    const { workload } = await loadQuestions(data, createChat(opened), opened);
    const { item, maxTokens } = workload("passages-512");
    const llama = await opened.openContext({ contextTokens: 8_192, sequences: 1 });
    try {
      for (let index = 0; index < count && !signal.aborted; index++) {
        const asked = { item: item(index), maxTokens, llama, signal, seed: index };
        measured.push(await saved.part(`passages-512/${index}`, () => measureServices(asked)));
        bar.update(index + 1);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
      note("cut short: the figures are those of what was measured");
    } finally {
      await llama.close();
    }
    bar.finish();
  } finally {
    opened.close();
  }
  const part = model === usualModel ? "arrivals" : `arrivals-${model}`;
  if (measured.length === 0) return { part, figures: { rows: null }, reasons: { rows: "no request was measured" } };
  const shared = { model, policy, commits: saved.commits(), n: measured.length, requests_of_a_stream: stream.requests };
  return { part, figures: { ...shared, ...rowsOf(measured) } };
}

interface Asked {
  item: Item;
  maxTokens: number;
  llama: LlamaContext;
  signal: AbortSignal;
  seed: number;
}

/** As arms do, the caches of passages that lack one are taken from the prefill. */
async function measureServices({ item, maxTokens, llama, signal, seed }: Asked): Promise<Services> {
  const { tokens, chunks } = item;
  const served = async (prompt: Omit<Prompt, "tokens">): Promise<Service> => {
    const before = process.cpuUsage();
    const { timings } = await llama.run({ ...prompt, tokens, maxTokens, stop: ["\n"] }, { signal });
    const { user, system } = process.cpuUsage(before);
    return { firstMs: timings.cpuFirstMs, wholeMs: Math.max(timings.cpuFirstMs, (user + system) / 1_000) };
  };
  const services: Services = { full: await served({}) };
  const made = await makeCaches(item, "context+system", (prompt) => llama.run(prompt, { signal }));
  const order = shuffled([...chunks.keys()].slice(1), seed);
  for (const reuse of reuses) {
    const cached = new Set([0, ...order.slice(0, Math.round(reuse * order.length))]);
    const planned = made.chunks.map((chunk, i) => (cached.has(i) ? chunk : { ...chunk, state: "missing" as const }));
    services[reuse] = await served({
      links: made.blobs.flatMap((blob, i) => (cached.has(i) ? [{ blob, position: chunks[i]!.begin }] : [])),
      recompute: planRecompute(policyNamed(policy), planned).map(([begin, end]) => ({ begin, end })),
      exports: chunks.filter((_, i) => !cached.has(i)),
    });
  }
  return services;
}

/** CPU of a request by reuse, with its ratio to full; and what comes of it under load. */
function rowsOf(measured: readonly Services[]) {
  const of = (name: string): Service[] => measured.map((services) => services[name]!);
  const capacity = 1_000 / mean(of("full").map(({ wholeMs }) => wholeMs));
  const cases = ["full", ...reuses.map(String)];
  const services = cases.map((name) => {
    const ratio = pairedBootstrap(
      of(name).map(({ wholeMs }) => Math.log(wholeMs)),
      of("full").map(({ wholeMs }) => Math.log(wholeMs)),
      { random: splitmix64(5), resamples: 2_000 },
    );
    return {
      ...{ reuse: name, first_ms: significant(mean(of(name).map(({ firstMs }) => firstMs))) },
      cpu_ms: significant(mean(of(name).map(({ wholeMs }) => wholeMs))),
      throughput_ratio: significant(Math.exp(-ratio.difference)),
      throughput_low: significant(Math.exp(-ratio.high)),
      throughput_high: significant(Math.exp(-ratio.low)),
    };
  });
  const queues = loads.flatMap((load) => {
    const waits = cases.map((name) => ({ name, ...firstTokens(of(name), { rate: load * capacity, ...stream }) }));
    const full = waits[0]!.ttftMs;
    return waits.map(({ name, ttftMs, lowMs, highMs }) => ({
      ...{ load_of_full: load, reuse: name, ttft_ms: significant(ttftMs) },
      ...{ ttft_low: significant(lowMs), ttft_high: significant(highMs), ttft_ratio: significant(full / ttftMs) },
    }));
  });
  return { full_per_cpu_s: significant(capacity), services, queues };
}
