// Answers of examples given as they are (docs/arms.md, reuse).
import { gaugesOf, oncePerRegistry, countersOf } from "../../runtime/metrics/instruments.ts";
import type { MetricsRegistry } from "../../runtime/metrics/stage.ts";

export const createReuseMetrics = oncePerRegistry((registry: MetricsRegistry) => {
  const counter = countersOf(registry);
  const domains = gaugesOf(registry)(
    "precedent_reuse_domains",
    "Sharing domains with verified cases of the arm that reuses answers, by whether it is on or off there.",
    ["state"],
  );
  const requests = counter(
    "precedent_reuse_requests_total",
    "Requests that an example's answer could be given to: reused, verified (another arm answers for the comparison), on, off, held_back.",
    ["result"],
  );
  const saved = counter(
    "precedent_reuse_saved_cost_total",
    "What reused answers would have cost at the arm that is best without them, estimated.",
  );
  return {
    /** In how many sharing domains the arm is on, and off. */
    domains({ on, off }: { on: number; off: number }): void {
      domains.set({ state: "on" }, on);
      domains.set({ state: "off" }, off);
    },
    decided(
      { state, verifies, savedCost }: { state: string; verifies: boolean; savedCost: number },
      isChosen: boolean,
    ): void {
      requests.inc({ result: isChosen ? "reused" : verifies ? "verified" : state });
      if (isChosen && savedCost > 0) saved.inc(savedCost);
    },
  };
});
