// The same counters for every stage, so that one dashboard reads them all: what came in, what went out, what was dropped
// and why, what is under way, how far behind it is, and how long operators take. One registry a process, never a global
// one: tests and several processes' worth of stages in one process must not see each other's figures.
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

/** The Prometheus registry of a process. */
export type MetricsRegistry = Registry;

export interface StageMetrics {
  /** Records taken up from the stage's input. */
  received(count: number): void;
  /** Records sent to an output, e.g. "responses" or "work.small". */
  sent(output: string, count: number): void;
  /** One record that went no further; reason is a stable snake_case code, never free text. */
  dropped(reason: string, count?: number): void;
  /** A partition goes on somewhere else than where it was: its log lost its end, or is another topic's. */
  reset(reason: string): void;
  /** Time of one operator, in milliseconds; `whole` is the name of the entire pipeline. */
  observe(operator: string, milliseconds: number): void;
  /** Records under way now. */
  inFlight(count: number): void;
  /** Records of a partition that wait behind the stage's position. */
  lag(topic: string, partition: number, records: number): void;
  /** The partition went to another process: its lag is theirs to report. */
  forgetLag(topic: string, partition: number): void;
}

/** Name of the operator under which the time of a record's whole way through the stage is observed. */
export const whole = "whole";

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
  inFlight: Gauge<"stage">;
  lag: Gauge<"stage" | "topic" | "partition">;
  seconds: Histogram<"stage" | "operator">;
}

/** A registry for this process. `defaults` adds Node's own figures (memory, event loop), whose collector stays alive with it. */
export function createMetricsRegistry({ defaults = false }: { defaults?: boolean } = {}): Registry {
  const registry = new Registry();
  if (defaults) collectDefaultMetrics({ register: registry });
  return registry;
}

/** The counters of one stage; stages of one registry share the instruments and differ in their label. */
export function createStageMetrics(registry: Registry, stage: string): StageMetrics {
  const instruments = instrumentsOf(registry);
  // Counters that have never moved must be visible as 0: a rate over an absent series is no alarm.
  instruments.received.inc({ stage }, 0);
  instruments.inFlight.set({ stage }, 0);

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
    inFlight: (count) => {
      instruments.inFlight.set({ stage }, count);
    },
    lag: (topic, partition, records) => {
      instruments.lag.set({ stage, topic, partition }, Math.max(0, records));
    },
    forgetLag: (topic, partition) => {
      instruments.lag.remove({ stage, topic, partition });
    },
  };
}

const known = new WeakMap<Registry, Instruments>();

function instrumentsOf(registry: Registry): Instruments {
  const existing = known.get(registry);
  if (existing !== undefined) return existing;
  const registers = [registry];
  const made: Instruments = {
    received: new Counter({
      name: "precedent_received_total",
      help: "Records taken up from the input.",
      labelNames: ["stage"],
      registers,
    }),
    sent: new Counter({
      name: "precedent_sent_total",
      help: "Records sent, by output.",
      labelNames: ["stage", "output"],
      registers,
    }),
    dropped: new Counter({
      name: "precedent_dropped_total",
      help: "Records that went no further, by reason.",
      labelNames: ["stage", "reason"],
      registers,
    }),
    resets: new Counter({
      name: "precedent_positions_reset_total",
      help: "Partitions that could not go on where they were, by reason: retention, truncated, another_topic.",
      labelNames: ["stage", "reason"],
      registers,
    }),
    inFlight: new Gauge({ name: "precedent_in_flight", help: "Records under way.", labelNames: ["stage"], registers }),
    lag: new Gauge({
      name: "precedent_lag_records",
      help: "Records that wait behind the stage's position.",
      labelNames: ["stage", "topic", "partition"],
      registers,
    }),
    seconds: new Histogram({
      name: "precedent_operator_seconds",
      help: "Time of an operator; operator=whole is a record's whole way through the stage.",
      labelNames: ["stage", "operator"],
      buckets: secondsBuckets,
      registers,
    }),
  };
  known.set(registry, made);
  return made;
}
