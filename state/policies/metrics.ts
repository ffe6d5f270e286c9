// Which version of each policy a process goes by, and whether a newer one could not be used: one
// dashboard for the router, the threshold, the helpfulness model.
import { gaugesOf } from "../../runtime/metrics/instruments.ts";
import type { MetricsRegistry } from "../../runtime/metrics/stage.ts";

export type PolicyMetrics = ReturnType<typeof createPolicyMetrics>;

export function createPolicyMetrics(registry: MetricsRegistry) {
  const gauge = gaugesOf(registry);
  const version = gauge("precedent_policy_version", "Version of the policy in force; 0: none.", ["policy"]);
  const refused = gauge("precedent_policy_refused", "1 while a newer version than the one in force can't be used.", [
    "policy",
  ]);
  return {
    version: (policy: string, value: number): void => {
      version.set({ policy }, value);
    },
    /** Whether a newer version than the one in force is there and can't be used. */
    refused: (policy: string, value: boolean): void => {
      refused.set({ policy }, value ? 1 : 0);
    },
  };
}
