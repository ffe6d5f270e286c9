// Figures of the examples that a stage holds, read from the pool every few seconds.
import type { Embedder } from "../../connections/embedder/port.ts";
import type { ExamplePool } from "./port.ts";
import { gaugesOf } from "../../runtime/metrics/instruments.ts";
import type { MetricsRegistry } from "../../runtime/metrics/stage.ts";

export interface PoolMetricsOptions {
  registry: MetricsRegistry;
  stage: string;
  pool: Pick<ExamplePool, "figures">;
  embedder: Pick<Embedder, "figures">;
  /** Domains with metrics of their own, the largest first. Default 20. */
  domains?: number;
}

/** Between readings. */
const everyMs = 5_000;

/** Reads at once and then every so often, until it is stopped. */
export function observePool(options: PoolMetricsOptions): { read(): void; stop(): void } {
  const { registry, stage, pool, embedder, domains = 20 } = options;
  const gauge = gaugesOf(registry);
  const byStage = ["stage"] as const;
  const held = gauge("precedent_pool_examples", "Examples held.", byStage);
  const inDomains = gauge("precedent_pool_domains", "Domains that have examples.", byStage);
  const pending = gauge("precedent_pool_pending", "Examples that wait for a vector of the configured model.", byStage);
  const damaged = gauge("precedent_pool_damaged", "Records found damaged in the local store.", byStage);
  const rebuilds = gauge("precedent_pool_rebuilds", "Times that the vector indexes were opened anew.", byStage);
  const waiting = gauge("precedent_embedder_waiting", "Texts that wait for the embedding model.", [
    "stage",
    "kind",
  ] as const);
  const texts = gauge("precedent_embedder_texts", "Texts computed, found in the cache, and refused since the start.", [
    "stage",
    "outcome",
  ] as const);
  const byDomain = ["stage", "domain"] as const;
  const indexes = {
    size: gauge("precedent_index_size", "Vectors in the index of a domain.", byDomain),
    lists: gauge("precedent_index_lists", "Its clusters; 0: exact.", byDomain),
    probes: gauge("precedent_index_probes", "Clusters that a search of it looks into.", byDomain),
    swaps: gauge("precedent_index_swaps", "Times that a newly built index replaced the one in use.", byDomain),
    recall: gauge("precedent_index_recall", "Share of the truly nearest that its searches find, by probes.", byDomain),
  };
  let shown: string[] = [];

  function read(): void {
    const figures = pool.figures();
    held.set({ stage }, figures.examples);
    inDomains.set({ stage }, figures.domains);
    pending.set({ stage }, figures.pending);
    damaged.set({ stage }, figures.damaged);
    rebuilds.set({ stage }, figures.rebuilds);
    const of = embedder.figures();
    waiting.set({ stage, kind: "requests" }, of.waiting);
    waiting.set({ stage, kind: "background" }, of.background);
    texts.set({ stage, outcome: "computed" }, of.computed);
    texts.set({ stage, outcome: "cached" }, of.cached);
    texts.set({ stage, outcome: "refused" }, of.refused);
    const largest = figures.indexes.slice(0, domains);
    const gone = shown.filter((domain) => !largest.some((one) => one.domain === domain));
    for (const one of Object.values(indexes)) for (const domain of gone) one.remove({ stage, domain });
    shown = largest.map(({ domain }) => domain);
    for (const { domain, figures: one } of largest) {
      indexes.size.set({ stage, domain }, one.size);
      indexes.lists.set({ stage, domain }, one.lists);
      indexes.probes.set({ stage, domain }, one.probes);
      indexes.swaps.set({ stage, domain }, one.swaps);
      // An exact index finds them all; one that was not measured yet says nothing.
      const recall = one.kind === "exact" ? 1 : one.recall;
      if (recall === null) indexes.recall.remove({ stage, domain });
      else indexes.recall.set({ stage, domain }, recall);
    }
  }
  read();
  const timer = setInterval(read, everyMs).unref();
  return {
    read,
    stop() {
      clearInterval(timer);
      for (const one of [held, inDomains, pending, damaged, rebuilds]) one.remove({ stage });
      for (const kind of ["requests", "background"]) waiting.remove({ stage, kind });
      for (const outcome of ["computed", "cached", "refused"]) texts.remove({ stage, outcome });
      for (const one of Object.values(indexes)) for (const domain of shown) one.remove({ stage, domain });
    },
  };
}
