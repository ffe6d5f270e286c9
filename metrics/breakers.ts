// The circuit breakers of the arms as this process sees them (docs/operations.md).
import { Counter } from "prom-client";
import type { BreakerState } from "../algorithms/breaker.ts";
import { gaugesOf, oncePerRegistry } from "./instruments.ts";
import type { MetricsRegistry } from "./stage.ts";

export interface BreakerMetrics {
  changed(arm: string, to: BreakerState): void;
}

const levels: Readonly<Record<BreakerState, number>> = { closed: 0, "half-open": 1, open: 2 };

export const createBreakerMetrics = oncePerRegistry((registry: MetricsRegistry): BreakerMetrics => {
  const state = gaugesOf(registry)(
    "precedent_arm_breaker",
    "Breaker of an arm in a process that calls it: 0 closed, 1 half-open, 2 open.",
    ["arm"],
  );
  const transitions = new Counter({
    name: "precedent_arm_breaker_transitions_total",
    help: "Changes of an arm's breaker, by the state it changed to.",
    labelNames: ["arm", "to"],
    registers: [registry],
  });
  return {
    changed(arm, to) {
      state.set({ arm }, levels[to]);
      transitions.inc({ arm, to });
    },
  };
});
