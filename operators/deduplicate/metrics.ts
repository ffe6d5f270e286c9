// How many ids are remembered, and which partitions wait for theirs.
import { Gauge } from "prom-client";
import { oncePerRegistry } from "../../runtime/metrics/instruments.ts";

export interface SeenIdsFigures {
  /** Ids remembered. */
  ids(): number;
  /** Partitions that wait for their ids before a request of them is taken. */
  waiting(): number;
}

/** Figures of one plan stage; those of several in a process are added up on every scrape. */
export const createSeenIdsMetrics = oncePerRegistry((registry) => {
  const all = new Set<SeenIdsFigures>();
  const sum = (of: (figures: SeenIdsFigures) => number): number => [...all].reduce((total, one) => total + of(one), 0);
  const registers = [registry];
  new Gauge({
    name: "precedent_seen_ids",
    help: "Request ids that plan remembers, of the last 24 hours.",
    registers,
    collect() {
      this.set(sum(({ ids }) => ids()));
    },
  });
  new Gauge({
    name: "precedent_seen_ids_waiting_partitions",
    help: "Partitions of requests that wait until the ids seen in them are read.",
    registers,
    collect() {
      this.set(sum(({ waiting }) => waiting()));
    },
  });
  return {
    /** Returns what ends it. */
    add(figures: SeenIdsFigures): () => void {
      all.add(figures);
      return () => void all.delete(figures);
    },
  };
});
