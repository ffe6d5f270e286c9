// bench -- linked --only scoring: what scoring a passage's cache in parts costs beside one pass and
// beside its prefill, whether it finds the same, and what a request that comes meanwhile waits for.
// One thread, CPU milliseconds of this process.
import { createImpactScorer, impactOf, mostScoredTokens, scoredRanges } from "../../arms/linked/impact.ts";
import { modelFile } from "../../config/models.ts";
import type { Impact } from "../../connections/kv/port.ts";
import { createChat } from "../../connections/llama/chat.ts";
import { fingerprintOf, openLlamaModel } from "../../connections/llama/model.ts";
import type { LlamaContext, Prompt } from "../../connections/llama/port.ts";
import { type LlamaScorer, openScorer } from "../../connections/llama/scorer.ts";
import type { BenchContext, Measured } from "../benchmark.ts";
import { mean, median, significant } from "../support/statistics.ts";
import { loadQuestions } from "./papers/questions.ts";

const usualModel = "SmolLM2-135M-Instruct";
const usualRepeats = 5;
const lengths = [512, 1_024];
/** Shares of a ranking that craft-0.1 and craft-0.3 take at most. */
const shares = [0.1, 0.3];

type Times = Record<"prefill" | "with_exports" | "parts" | "one_pass" | "last_part" | "wait", number>;
interface Difference {
  cci: number;
  inter: number;
  ranking: number[];
}
interface Scored {
  times: Times;
  /** Parts beside one pass over the cached prefix; that pass beside one without any cache. */
  parts: Difference;
  noise: Difference;
}

async function cpuOf<T>(work: () => Promise<T>): Promise<[ms: number, result: T]> {
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  return [(user + system) / 1_000, result];
}

function differenceOf(one: Impact, other: Impact): Difference {
  const top = ({ ranking }: Impact, share: number) => ranking.slice(0, Math.ceil(share * ranking.length));
  return {
    cci: Math.abs(one.cci - other.cci),
    inter: Math.max(...one.inter.map((sum, index) => Math.abs(sum / other.inter[index]! - 1))),
    ranking: shares.map((share) => {
      const both = new Set(top(one, share));
      return top(other, share).filter((token) => both.has(token)).length / both.size;
    }),
  };
}

/** tokens: prefix chunks of the given lengths, then the passage. */
async function measure(
  { tokens, prefix }: { tokens: Int32Array; prefix: readonly number[] },
  { context, scorer }: { context: LlamaContext; scorer: LlamaScorer },
): Promise<Scored> {
  const { signal } = new AbortController();
  const starts = prefix.reduce((all, length) => [...all, all.at(-1)! + length], [0]);
  const begin = starts.at(-1)!;
  const passage = { begin, end: tokens.length };
  const exports = scoredRanges(begin, tokens.length);
  const [prefill] = await cpuOf(() => context.run({ tokens, exports: [passage] }));
  const [withExports, { blobs }] = await cpuOf(() => context.run({ tokens, exports: [passage, ...exports] }));
  const caches = blobs.slice(1);
  const onePass = async (links: Prompt["links"]): Promise<Impact> =>
    impactOf(await scorer.attention({ tokens, links, starts }), prefix, begin);
  const [one, whole] = await cpuOf(() => onePass([{ blob: caches[0]!, position: 0 }]));

  let lastPart = 0;
  let onPart = (): void => undefined;
  const attention: LlamaScorer["attention"] = async (question) => {
    onPart();
    const [ms, found] = await cpuOf(() => scorer.attention(question));
    lastPart = ms;
    return found;
  };
  const warn = (fields: { err: unknown }): never => {
    throw fields.err;
  };
  const impacts = createImpactScorer(() => Promise.resolve({ attention, close: async () => undefined }), { warn });
  const score = (ending: AbortSignal) => impacts.score({ id: "", tokens, prefix, caches }, ending);
  const [parts, found] = await cpuOf(() => score(signal));
  const times = { prefill, with_exports: withExports, parts, one_pass: one, last_part: lastPart };

  // The request comes when the last part but one has just begun.
  const ending = new AbortController();
  let left = exports.length - 1;
  let came = process.cpuUsage();
  onPart = () => {
    if (--left > 0) return;
    came = process.cpuUsage();
    ending.abort();
  };
  await score(ending.signal).catch(() => undefined);
  const { user, system } = process.cpuUsage(came);
  const noise = differenceOf(await onePass([]), whole);
  return { times: { ...times, wait: (user + system) / 1_000 }, parts: differenceOf(found!, whole), noise };
}

export async function runScoring(context: BenchContext): Promise<Measured> {
  const { checkpoints, data, quick, signal, progress } = context;
  const model = context.model ?? usualModel;
  const repeats = context.requests ?? (quick ? 1 : usualRepeats);
  const path = modelFile(model);
  const opened = await openLlamaModel({ path, fingerprint: await fingerprintOf(path) });
  const bar = progress("passages scored", lengths.length * repeats, "passages");
  try {
    const { workload } = await loadQuestions(data, createChat(opened), opened);
    const { item } = workload("passages-512");
    const llama = await opened.openContext({ contextTokens: mostScoredTokens, sequences: 1 });
    const scorer = await openScorer(opened, { contextTokens: mostScoredTokens });
    const rows = [];
    for (const passage of lengths) {
      const scored: Scored[] = [];
      for (let index = 0; index < repeats; index++) {
        signal.throwIfAborted();
        const { tokens, chunks } = item(index);
        const [system, neighbour] = chunks;
        const prompt = tokens.subarray(0, neighbour!.end + passage);
        const prefix = [system!.end, neighbour!.end - system!.end];
        const asked = { tokens: prompt, prefix };
        scored.push(
          await checkpoints.part(`scoring ${model} ${passage}/${index}`, () =>
            measure(asked, { context: llama, scorer }),
          ),
        );
        bar.update(lengths.indexOf(passage) * repeats + index + 1);
      }
      rows.push({ passage, ...rowOf(scored) });
    }
    bar.finish();
    await Promise.all([llama.close(), scorer.close()]);
    const part = model === usualModel ? "scoring" : `scoring-${model}`;
    return { part, figures: { model, n: repeats, scattered: llama.scattered, rows } };
  } finally {
    opened.close();
  }
}

/** Medians of times; the largest differences and the mean shares of a ranking that are the same. */
function rowOf(scored: readonly Scored[]) {
  const timeOf = (name: keyof Times): number => significant(median(scored.map(({ times }) => times[name])));
  const differences = (of: "parts" | "noise") => ({
    cci: significant(Math.max(...scored.map((one) => one[of].cci))),
    inter: significant(Math.max(...scored.map((one) => one[of].inter))),
    ranking: shares.map((_, index) => significant(mean(scored.map((one) => one[of].ranking[index]!)))),
  });
  return {
    ...{ prefill_ms: timeOf("prefill"), with_exports_ms: timeOf("with_exports"), parts_ms: timeOf("parts") },
    ...{ one_pass_ms: timeOf("one_pass"), last_part_ms: timeOf("last_part"), wait_ms: timeOf("wait") },
    ...{ difference: differences("parts"), noise: differences("noise") },
  };
}
