// What an arm's caches hold and where they were read from.
import { gaugesOf } from "../../runtime/metrics/instruments.ts";
import type { MetricsRegistry } from "../../runtime/metrics/stage.ts";

/** Reads count from the start of the arm's process: gauges. */
export interface KvFigures {
  chunks: number;
  bytes: number;
  reads: { memoryHits: number; diskHits: number; misses: number; prefetched: number };
}

export function createKvMetrics(registry: MetricsRegistry) {
  const gauge = gaugesOf(registry);
  const chunks = gauge("precedent_kv_chunks", "Examples and document pieces whose caches an arm has.", ["arm"]);
  const bytes = gauge("precedent_kv_bytes", "Bytes of those caches.", ["arm"]);
  const reads = gauge(
    "precedent_kv_reads",
    "Caches read since the arm's process was started, by where they were; prefetched: loaded before they were asked for.",
    ["arm", "from"],
  );
  return {
    set(arm: string, figures: KvFigures): void {
      chunks.set({ arm }, figures.chunks);
      bytes.set({ arm }, figures.bytes);
      const { memoryHits, diskHits, misses, prefetched } = figures.reads;
      for (const [from, count] of Object.entries({ memory: memoryHits, disk: diskHits, nowhere: misses, prefetched }))
        reads.set({ arm, from }, count);
    },
    /** The arm ended in this process. */
    remove(arm: string): void {
      chunks.remove({ arm });
      bytes.remove({ arm });
      for (const from of ["memory", "disk", "nowhere", "prefetched"]) reads.remove({ arm, from });
    },
  };
}
