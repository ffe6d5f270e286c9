// The breakers of the arms as this process sees them, and takeovers (docs/operations.md).
import type { BreakerState } from "../../algorithms/queueing/breaker.ts";
import { gaugesOf, oncePerRegistry, countersOf } from "../../runtime/metrics/instruments.ts";
import type { MetricsRegistry } from "../../runtime/metrics/stage.ts";

export interface BreakerMetrics {
  changed(arm: string, to: BreakerState): void;
  /** `to` takes over a request at which `from` failed with that code. */
  fallback(from: string, to: string, code: string): void;
}

export const levels: Readonly<Record<BreakerState, number>> = { closed: 0, "half-open": 1, open: 2 };

export const createBreakerMetrics = oncePerRegistry((registry: MetricsRegistry): BreakerMetrics => {
  const counter = countersOf(registry);
  const state = gaugesOf(registry)(
    "precedent_arm_breaker",
    "Breaker of an arm in a process that calls it: 0 closed, 1 half-open, 2 open.",
    ["arm"],
  );
  const transitions = counter(
    "precedent_arm_breaker_transitions_total",
    "Changes of an arm's breaker, by the state it changed to.",
    ["arm", "to"],
  );
  const fallbacks = counter(
    "precedent_fallbacks_total",
    "Requests that another arm took over, by the arm that failed and the code of its failure.",
    ["from", "to", "code"],
  );
  return {
    fallback: (from, to, code) => fallbacks.inc({ from, to, code }),
    changed(arm, to) {
      state.set({ arm }, levels[to]);
      transitions.inc({ arm, to });
    },
  };
});
