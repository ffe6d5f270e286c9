// What the response cache does: requests by how they fared, what is held, why entries left, and the
// model cost that was not spent.
import { gaugesOf, oncePerRegistry, countersOf } from "../../runtime/metrics/instruments.ts";

export interface CacheFigures {
  entries: number;
  bytes: number;
  /** Since the process began, by why. */
  left: Readonly<Record<string, number>>;
}

export const createCacheMetrics = oncePerRegistry((registry) => {
  const counter = countersOf(registry);
  const requests = counter(
    "precedent_cache_requests_total",
    "Requests by how they fared in the response cache: hit, followed (the answer to the same request under way), miss, excluded (they may not be kept, or want a fresh answer).",
    ["result"],
  );
  const saved = counter(
    "precedent_cache_saved_cost_total",
    "What the answers given from the response cache had cost when they were made, in the currency of the prices.",
  );
  const gauge = gaugesOf(registry);
  const entries = gauge("precedent_cache_entries", "Entries in the response cache of this process.");
  const bytes = gauge("precedent_cache_bytes", "Their bytes, with those of their requests and keys.");
  const gone = gauge("precedent_cache_left", "Entries that have left since the process was started, by why.", ["why"]);
  for (const result of ["hit", "followed", "miss", "excluded"]) requests.inc({ result }, 0);
  return {
    count(result: string, savedCost: number): void {
      requests.inc({ result });
      if (savedCost > 0) saved.inc(savedCost);
    },
    set(figures: CacheFigures): void {
      entries.set(figures.entries);
      bytes.set(figures.bytes);
      for (const [why, count] of Object.entries(figures.left)) gone.set({ why }, count);
    },
  };
});
