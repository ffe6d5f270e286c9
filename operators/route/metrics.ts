// Answers of examples given as they are (docs/arms.md, reuse).
import { Counter } from "prom-client";
import { gaugesOf, oncePerRegistry } from "../../runtime/metrics/instruments.ts";
import type { MetricsRegistry } from "../../runtime/metrics/stage.ts";

export interface ReuseMetrics {
  /** In how many sharing domains the arm is on, and off. */
  domains(count: { on: number; off: number }): void;
  decided(trial: { state: string; verifies: boolean; savedCost: number }, isChosen: boolean): void;
}

export const createReuseMetrics = oncePerRegistry((registry: MetricsRegistry): ReuseMetrics => {
  const domains = gaugesOf(registry)(
    "precedent_reuse_domains",
    "Sharing domains with verified cases of the arm that reuses answers, by whether it is on or off there.",
    ["state"],
  );
  const requests = new Counter({
    name: "precedent_reuse_requests_total",
    help: "Requests that an example's answer could be given to: reused, verified (another arm answers for the comparison), on, off, held_back.",
    labelNames: ["result"],
    registers: [registry],
  });
  const saved = new Counter({
    name: "precedent_reuse_saved_cost_total",
    help: "What reused answers would have cost at the arm that is best without them, estimated.",
    registers: [registry],
  });
  return {
    domains({ on, off }) {
      domains.set({ state: "on" }, on);
      domains.set({ state: "off" }, off);
    },
    decided({ state, verifies, savedCost }, isChosen) {
      requests.inc({ result: isChosen ? "reused" : verifies ? "verified" : state });
      if (isChosen && savedCost > 0) saved.inc(savedCost);
    },
  };
});
