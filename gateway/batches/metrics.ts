// Batches in Prometheus: how many are in which state, and their lines. Every gateway knows all
// batches, so take the maximum over gateways; the counter is each gateway's own.
import { Gauge } from "prom-client";
import { oncePerRegistry, countersOf } from "../../runtime/metrics/instruments.ts";
import { statusOf } from "./objects.ts";
import type { Outcome } from "./position.ts";
import type { StoredBatch } from "./table.ts";

/** The same for the same registry: a gateway that is started again goes on counting. */
export const createBatchMetrics = oncePerRegistry((registry) => {
  const registers = [registry];
  const counter = countersOf(registry);
  let unfinished = (): readonly StoredBatch[] => [];
  new Gauge({
    name: "precedent_batches",
    help: "Unfinished batches of all tenants by state: validating, in_progress, finalizing, cancelling.",
    labelNames: ["state"],
    registers,
    collect() {
      this.reset();
      for (const state of ["validating", "in_progress", "finalizing", "cancelling"]) this.set({ state }, 0);
      for (const batch of unfinished()) this.inc({ state: statusOf(batch) });
    },
  });
  new Gauge({
    name: "precedent_batch_lines_waiting",
    help: "Lines of unfinished batches that have no answer yet.",
    registers,
    collect() {
      this.set(unfinished().reduce((sum, batch) => sum + waitingOf(batch), 0));
    },
  });
  const lines = counter(
    "precedent_batch_lines_total",
    "Lines of batches that this gateway has asked, by outcome: completed, failed, deferred (answered later).",
    ["outcome"],
  );
  return {
    /** Reads the unfinished batches at every scrape from now on. */
    follows: (batches: () => readonly StoredBatch[]): void => void (unfinished = batches),
    finished: (outcome: Outcome): void => lines.inc({ outcome }),
  };
});

function waitingOf({ file, progress }: StoredBatch): number {
  const { completed = 0, failed = 0, completedAhead = 0, failedAhead = 0 } = progress ?? {};
  return file.lines - completed - failed - completedAhead - failedAhead;
}
