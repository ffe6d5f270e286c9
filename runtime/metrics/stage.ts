// Counters of stages (runtime/metrics/port.ts) for Prometheus; one registry a process.
import { type Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";
import type { StageMetrics } from "./port.ts";
import type { PartitionLag } from "../lag.ts";
import { oncePerRegistry, countersOf } from "./instruments.ts";

export type MetricsRegistry = Registry;

// From an operator that only computes to a slow model call.
const secondsBuckets = [
  0.00002, 0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
  60, 120,
];

interface Instruments {
  received: Counter<"stage">;
  sent: Counter<"stage" | "output">;
  dropped: Counter<"stage" | "reason">;
  resets: Counter<"stage" | "reason">;
  /** By stage, of each part that counts for it; summed up on every scrape. */
  underWay: Map<string, Map<string, number>>;
  /** By stage, read on every scrape. */
  lags: Map<string, () => readonly PartitionLag[]>;
  seconds: Histogram<"stage" | "operator">;
}

/** `defaults` adds Node's figures, whose collector lives as long. */
export function createMetricsRegistry({ defaults = false }: { defaults?: boolean } = {}): Registry {
  const registry = new Registry();
  if (defaults) collectDefaultMetrics({ register: registry });
  return registry;
}

/** Stages of one registry share instruments. `part`: of several counting for one stage. */
export function createStageMetrics(registry: Registry, stage: string, part = ""): StageMetrics {
  const instruments = instrumentsOf(registry);
  // Counters that have never moved must be visible as 0: a rate over an absent series is no alarm.
  instruments.received.inc({ stage }, 0);
  const underWay = instruments.underWay.get(stage) ?? new Map<string, number>();
  instruments.underWay.set(stage, underWay);
  const inFlight = (count: number): void => {
    underWay.set(part, count);
  };
  inFlight(0);

  return {
    received: (count) => {
      instruments.received.inc({ stage }, count);
    },
    sent: (output, count) => {
      instruments.sent.inc({ stage, output }, count);
    },
    dropped: (reason, count = 1) => {
      instruments.dropped.inc({ stage, reason }, count);
    },
    reset: (reason) => {
      instruments.resets.inc({ stage, reason });
    },
    observe: (operator, milliseconds) => {
      instruments.seconds.observe({ stage, operator }, milliseconds / 1000);
    },
    inFlight,
    lag: (now) => {
      instruments.lags.set(stage, now);
    },
  };
}

const instrumentsOf = oncePerRegistry((registry): Instruments => {
  const registers = [registry];
  const counter = countersOf(registry);
  const underWay: Instruments["underWay"] = new Map();
  new Gauge({
    name: "precedent_in_flight",
    help: "Records under way.",
    labelNames: ["stage"],
    registers,
    collect() {
      for (const [stage, parts] of underWay)
        this.set(
          { stage },
          [...parts.values()].reduce((sum, one) => sum + one, 0),
        );
    },
  });
  const lags: Instruments["lags"] = new Map();
  new Gauge({
    name: "precedent_lag_records",
    help: "Records behind the stage's committed position.",
    labelNames: ["stage", "topic", "partition"],
    registers,
    collect() {
      this.reset();
      for (const [stage, now] of lags)
        for (const { topic, partition, records } of now()) this.set({ stage, topic, partition }, records);
    },
  });
  return {
    underWay,
    lags,
    received: counter("precedent_received_total", "Records taken up from the input.", ["stage"]),
    sent: counter("precedent_sent_total", "Records sent, by output.", ["stage", "output"]),
    dropped: counter("precedent_dropped_total", "Records that went no further, by reason.", ["stage", "reason"]),
    resets: counter(
      "precedent_positions_reset_total",
      "Partitions that could not go on where they were, by reason: retention, truncated, another_topic, forgotten.",
      ["stage", "reason"],
    ),
    seconds: new Histogram({
      name: "precedent_operator_seconds",
      help: "Time of an operator; operator=whole is a record's whole way through the stage.",
      labelNames: ["stage", "operator"],
      buckets: secondsBuckets,
      registers,
    }),
  };
});
