// bench -- linked: what linked prefill saves and what it costs in quality, beside full prefill and
// prefix caching, with SmolLM2 on one thread. Every request is measured by itself and kept; a run
// that is cut short gives the figures of what it has.
import type { BenchContext, Benchmark, Measured as Outcome } from "../benchmark.ts";
import { runBuild } from "./build.ts";
import { drawChart } from "./drawing.ts";
import { bestOf, type Row, rowsOf } from "./figures.ts";
import { type SavedRuns, measurePlan } from "./measure-plan.ts";
import { runCaches } from "./only-caches.ts";
import { runPassages } from "./only-passages.ts";
import { runArrivals } from "./papers/arrivals.ts";
import { modes } from "./papers/plan.ts";
import { runPapers } from "./papers/run.ts";
import { fullPlan, type Plan, quickPlan } from "./plan.ts";
import { runScoring } from "./scoring.ts";
import { ratios, runThroughput } from "./only-throughput.ts";

const parts: Readonly<Record<string, Benchmark["run"]>> = {
  caches: runCaches,
  passages: runPassages,
  arrivals: runArrivals,
  build: runBuild,
  scoring: runScoring,
  throughput: runThroughput,
  ...Object.fromEntries(modes.map((mode) => [mode, (context: BenchContext) => runPapers(context, mode)])),
};

export const linked: Benchmark = {
  name: "linked",
  about:
    "time to first token and quality of linked prefill by convention and policy, beside full prefill and prefix caching",
  parts: Object.keys(parts),
  run: (context) => {
    const part = parts[context.only ?? ""];
    if (part !== undefined && context.device !== undefined)
      throw new Error("--device is of the whole benchmark: leave --only out");
    return (part ?? run)(context);
  },
};

const central = "nl2bash-10";

async function run(context: BenchContext): Promise<Outcome> {
  const plan = context.quick ? quickPlan : fullPlan;
  const kept = await measurePlan(context, plan);
  const rows = [...kept.measured].flatMap(([workload, measured]) => rowsOf(workload, measured));
  const { quick, device } = context;
  if (!quick && device === undefined) await drawChart({ all: rows });
  return { ...outcomeOf(rows, kept, plan), ...(device === undefined ? {} : { part: "device" }) };
}

function outcomeOf(rows: readonly Row[], { throughput, loading, device, cut }: SavedRuns, plan: Plan): Outcome {
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
      device,
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
