// What an arm's caches hold and where they were read from. One set of instruments a registry, as in selection-metrics.ts.
import { Gauge, type Registry } from "prom-client";

/** The figures of an arm, as far as they are told. Reads count from the start of the arm's process, so they are gauges. */
export interface KvFigures {
  chunks: number;
  bytes: number;
  reads: { memoryHits: number; diskHits: number; misses: number; prefetched: number };
}

export interface KvMetrics {
  set(arm: string, figures: KvFigures): void;
}

const known = new WeakMap<Registry, KvMetrics>();

/** The same for the same registry. */
export function createKvMetrics(registry: Registry): KvMetrics {
  const existing = known.get(registry);
  if (existing !== undefined) return existing;
  const registers = [registry];
  const chunks = new Gauge({
    name: "precedent_kv_chunks",
    help: "Examples and document pieces whose caches an arm has.",
    labelNames: ["arm"],
    registers,
  });
  const bytes = new Gauge({
    name: "precedent_kv_bytes",
    help: "Bytes of those caches.",
    labelNames: ["arm"],
    registers,
  });
  const reads = new Gauge({
    name: "precedent_kv_reads",
    help: "Caches read since the arm's process was started, by where they were; prefetched: loaded before they were asked for.",
    labelNames: ["arm", "from"],
    registers,
  });
  const metrics: KvMetrics = {
    set(arm, figures) {
      chunks.set({ arm }, figures.chunks);
      bytes.set({ arm }, figures.bytes);
      const { memoryHits, diskHits, misses, prefetched } = figures.reads;
      for (const [from, count] of Object.entries({ memory: memoryHits, disk: diskHits, nowhere: misses, prefetched }))
        reads.set({ arm, from }, count);
    },
  };
  known.set(registry, metrics);
  return metrics;
}
