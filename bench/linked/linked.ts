// bench -- linked: what linked prefill saves and what it costs in quality, beside full prefill and prefix caching, with SmolLM2 on one thread.
// Every request is measured by itself and kept; a run that is cut short gives the figures of what it has.
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { llamaModelFile } from "../../config/assets.ts";
import { createChat } from "../../connections/llama/chat.ts";
import { fingerprintOf, openLlamaModel } from "../../connections/llama/model.ts";
import type { LlamaModel, LlamaScorer } from "../../connections/llama/port.ts";
import type { BenchContext, Benchmark, Measured as Outcome } from "../benchmark.ts";
import { significant } from "../support/statistics.ts";
import { chartOf } from "./chart.ts";
import { bestOf, type Row, rowsOf } from "./figures.ts";
import { type Loading, measureLoading } from "./loading.ts";
import { measureItem, type Measured } from "./measure.ts";
import { fullPlan, type Plan, quickPlan } from "./plan.ts";
import { runCaches } from "./only-caches.ts";
import { measureThroughput, type Throughput } from "./throughput.ts";
import { loadWorkloads, type Workload } from "./workloads.ts";

export const linked: Benchmark = {
  name: "linked",
  about:
    "time to first token and quality of linked prefill by convention and policy, beside full prefill and prefix caching",
  parts: ["caches"],
  run: (context) => (context.only === "caches" ? runCaches(context) : run(context)),
};

const central = "nl2bash-10";
const contextTokens = 8_192;
/** Eight prompts of 4,000 tokens and their answers at a time. */
const throughputTokens = 34_816;
const drawn: Readonly<Record<string, string>> = {
  "nl2bash-10": "10 examples",
  "musique-200": "5 passages of 200 tokens",
  "musique-512": "4 passages of 512 tokens",
};
const chartFile = fileURLToPath(new URL("../../docs/linked-prefill.svg", import.meta.url));

interface Kept {
  measured: Map<string, Measured[]>;
  throughput: Record<string, Throughput[]>;
  loading: Loading[];
  cut: boolean;
}

async function run(context: BenchContext): Promise<Outcome> {
  const plan = context.quick ? quickPlan : fullPlan;
  const path = llamaModelFile();
  const model = await openLlamaModel({ path, fingerprint: await fingerprintOf(path) });
  try {
    const workloadOf = await loadWorkloads(context, createChat(model), model);
    const kept = await measureAll(context, plan, model, workloadOf);
    const rows = [...kept.measured].flatMap(([workload, measured]) => rowsOf(workload, measured));
    if (!context.quick) await writeFile(chartFile, chartOf(rows, drawn));
    return outcomeOf(rows, kept, plan);
  } finally {
    model.close();
  }
}

async function measureAll(
  { checkpoints, signal, progress, note, folder }: BenchContext,
  plan: Plan,
  model: LlamaModel,
  workloadOf: (name: string) => Workload,
): Promise<Kept> {
  const kept: Kept = { measured: new Map(), throughput: {}, loading: [], cut: false };
  let scorer: Promise<LlamaScorer> | undefined;
  const machine = {
    context: await model.openContext({ contextTokens, sequences: 1 }),
    scorer: () => (scorer ??= model.openScorer({ contextTokens })),
    vocabulary: model.facts.vocabulary,
    signal,
  };
  const wide = await model.openContext({ contextTokens: throughputTokens, sequences: 8 });
  const bar = progress("requests under every policy", plan.parts.length, "requests");
  try {
    for (const [done, { workload, index, policies }] of plan.parts.entries()) {
      signal.throwIfAborted();
      const { item, maxTokens } = workloadOf(workload);
      const measured = await checkpoints.part(`${workload}/${index}`, () =>
        measureItem(item(index), policies, maxTokens, machine),
      );
      kept.measured.set(workload, [...(kept.measured.get(workload) ?? []), measured]);
      bar.update(done + 1);
      for (const { after, workload: name, ...asked } of plan.throughput)
        if (after === done + 1)
          kept.throughput[name] = await checkpoints.part(`throughput of ${name}`, () => {
            const { item: itemOf, maxTokens: most } = workloadOf(name);
            const items = Array.from({ length: asked.count }, (_, i) => itemOf(i));
            return measureThroughput({ ...asked, items, maxTokens: most, context: wide, signal });
          });
    }
    bar.finish();
    for (const name of plan.loading) {
      signal.throwIfAborted();
      const measuring = { workload: name, item: workloadOf(name).item(0), context: machine.context, folder, signal };
      const loaded = await checkpoints.part(`loading of ${name}`, () =>
        measureLoading({ ...measuring, layers: model.facts.layers }),
      );
      kept.loading.push(loaded);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    kept.cut = true;
    note("cut short: the figures are those of what was measured");
  } finally {
    await (await scorer)?.close();
    await machine.context.close();
    await wide.close();
  }
  return kept;
}

function outcomeOf(rows: readonly Row[], { throughput, loading, cut }: Kept, plan: Plan): Outcome {
  const full = rows.find(({ workload, policy }) => workload === central && policy === "full");
  const noise = rows.find(({ workload, policy }) => workload === central && policy === "prefix");
  const best = bestOf(rows, central);
  const missing = [...new Set(plan.parts.map(({ workload }) => workload))].filter(
    (name) => !rows.some(({ workload }) => workload === name),
  );
  const why = cut ? "the run was cut short before" : "not measured";
  const throughputs = plan.throughput.flatMap(({ workload }) => ratios(workload, throughput[workload] ?? []));
  return {
    figures: {
      f1_full: full?.f1 ?? null,
      noise_rouge_l: noise?.rouge_l ?? null,
      noise_kl: noise?.kl ?? null,
      best: best === undefined ? null : { ...best, f1_full: full?.f1 ?? null },
      throughput: throughputs.length === 0 ? null : throughputs,
      loading: loading.length === 0 ? null : loading,
      cut_short: cut,
      rows,
    },
    reasons: {
      ...(full === undefined ? { f1_full: why, noise_rouge_l: why, noise_kl: why, best: why } : {}),
      ...(throughputs.length === 0 ? { throughput: why } : {}),
      ...(loading.length === 0 ? { loading: why } : {}),
      ...Object.fromEntries(missing.map((name) => [`rows.${name}`, why])),
    },
  };
}

/** Beside full with as many in flight. */
function ratios(workload: string, measured: readonly Throughput[]) {
  return measured.map((row) => {
    const full = measured.find(({ policy, in_flight }) => policy === "full" && in_flight === row.in_flight);
    return {
      workload,
      ...row,
      per_cpu_s: significant(row.per_cpu_s),
      per_s: significant(row.per_s),
      ratio: full === undefined ? null : significant(row.per_cpu_s / full.per_cpu_s),
    };
  });
}
