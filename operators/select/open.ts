// What select needs beside the pool: the helpfulness model and its threshold, which examples are in
// arms' caches, and metrics. Not waited for: without the caches an example is only not preferred.
import type { Logger } from "pino";
import { createSharedDomains } from "../../algorithms/selection/shared-domains.ts";
import type { Opened } from "../../runtime/opened.ts";
import type { ExampleSearch } from "../../state/examples/port.ts";
import type { Helpfulness } from "../../state/helpfulness/helpfulness.ts";
import { followInventories } from "../../state/inventory/inventory.ts";
import { createPromptMemory, type PromptMemory } from "../../state/prefixes/prompt-memory.ts";
import type { SessionOf } from "../../state/session.ts";
import { createSelectionMetrics } from "./metrics.ts";
import type { SelectDependencies } from "./select.ts";

export interface SelectOptions {
  pool: ExampleSearch;
  helpfulness: Pick<Helpfulness, "model" | "threshold" | "outcomes">;
  clock: () => number;
  log: Logger;
}

/** The whole pool: embed asks it, too. */
type Dependencies = { memory: PromptMemory } & Omit<SelectDependencies, "arms" | "clock" | "random" | "documents"> & {
    pool: ExampleSearch;
  };

export function openSelect(
  session: SessionOf<{ tables: ["kv-inventory"] }>,
  { pool, helpfulness, clock, log }: SelectOptions,
): Opened<Dependencies> {
  const { config, metrics } = session;
  const caches = followInventories(session, log);
  return {
    dependencies: {
      pool,
      selection: config.selection,
      onSelection: createSelectionMetrics(metrics).count,
      helpfulnessModel: helpfulness.model,
      threshold: helpfulness.threshold,
      outcomes: helpfulness.outcomes,
      caches: caches.table,
      memory: createPromptMemory(clock),
      sharing: createSharedDomains(config.sharing),
    },
    stop: caches.stop,
  };
}
