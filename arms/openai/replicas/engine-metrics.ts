// Reads an engine's load from Prometheus' text format: vLLM, SGLang, llama-server, TGI. Only their
// few gauges are read; the rest is skipped. Pure.

export interface EngineLoad {
  /** Running requests, and waiting ones; null: not reported. */
  running: number | null;
  waiting: number;
  /** Share of the KV cache that running requests use, [0, 1]; null: not reported. */
  cacheUsage: number | null;
}

const gauges: Readonly<Record<string, keyof EngineLoad>> = {
  vllm_num_requests_running: "running",
  vllm_num_requests_waiting: "waiting",
  // Before version 0.10 it was gpu_cache_usage_perc. Both are shares, not per cent.
  vllm_kv_cache_usage_perc: "cacheUsage",
  vllm_gpu_cache_usage_perc: "cacheUsage",
  sglang_num_running_reqs: "running",
  sglang_num_queue_reqs: "waiting",
  sglang_token_usage: "cacheUsage",
  llamacpp_requests_processing: "running",
  llamacpp_requests_deferred: "waiting",
  llamacpp_kv_cache_usage_ratio: "cacheUsage",
  tgi_batch_current_size: "running",
  tgi_queue_size: "waiting",
};

/** A line of a gauge: name, labels, whose quotes may contain all but line ends, and value. */
const sample =
  /^(vllm|sglang|llamacpp|tgi)[:_]([a-z_]+)(?:[ \t]*\{(?:[^"}\n]|"(?:[^"\\\n]|\\[^\n])*")*\})?[ \t]+([^ \t\r\n]+)/gm;

/** Cap on reported requests: a wrong report must not outweigh all others. */
const mostRequests = 1_000_000;

/** Sums over the engines of one address; of the cache the maximum. undefined: no queue. */
export function engineLoadOf(text: string): EngineLoad | undefined {
  const found: { [name in keyof EngineLoad]?: number } = {};
  for (const [, engine = "", name = "", written = ""] of text.matchAll(sample)) {
    const gauge = gauges[`${engine}_${name}`];
    const value = Number(written);
    if (gauge === undefined || !Number.isFinite(value) || value < 0) continue;
    const before = found[gauge] ?? 0;
    found[gauge] =
      gauge === "cacheUsage" ? Math.min(1, Math.max(before, value)) : Math.min(mostRequests, before + value);
  }
  if (found.waiting === undefined) return undefined;
  return { running: found.running ?? null, waiting: found.waiting, cacheUsage: found.cacheUsage ?? null };
}

/** Utilisation; 1: full. (running + waiting) / running if any wait, else the cache's used share. */
export function engineUtilisation({ running, waiting, cacheUsage }: EngineLoad): number {
  const taken = Math.max(1, running ?? 0);
  return waiting > 0 ? (taken + waiting) / taken : (cacheUsage ?? 0);
}
