// Publishes the threshold of helpfulness when another one has shown itself better than the one in
// force; paused by a revert as every policy is.
import { HELPFULNESS_FEATURE_VERSION } from "../../algorithms/selection/helpfulness-features.ts";
import type { Policy } from "../../schemas/types.ts";
import type { ChosenThreshold } from "../learnt.ts";
import { isPaused, type PolicyLog } from "../../state/policies/log.ts";
import { policyRecord } from "../../state/policies/record.ts";
import {
  decodeThresholdPolicy,
  encodeThresholdBody,
  initialThreshold,
  THRESHOLD,
  THRESHOLD_KIND,
} from "../../state/policies/threshold.ts";

/** tau of the newest version; the initial one where there is none that can be read. */
export function thresholdInForce(policies: Pick<PolicyLog, "newest">): number {
  const newest = policies.newest();
  const decoded = newest === null ? null : decodeThresholdPolicy(newest);
  return decoded === null || "problem" in decoded ? initialThreshold : decoded.threshold;
}

/** Publishes a threshold. Rejects as PolicyLog does; null: unchanged or paused. */
export function createPublishThreshold({ policies, clock }: { policies: PolicyLog; clock: () => number }) {
  return async function publishThreshold({ threshold, grid, better }: ChosenThreshold): Promise<Policy | null> {
    const before = thresholdInForce(policies);
    if (threshold === before || isPaused(policies)) return null;
    const chosen = grid.find(({ tau }) => tau === threshold);
    return policies.append((version) => {
      // Becoming the writer may have shown a newer version than the one decided about.
      if (thresholdInForce(policies) !== before || isPaused(policies)) return null;
      return policyRecord({
        name: THRESHOLD,
        version,
        kind: THRESHOLD_KIND,
        body: encodeThresholdBody({ threshold, grid }),
        featureVersion: HELPFULNESS_FEATURE_VERSION,
        trainedThrough: clock(),
        metrics: { threshold, before, better, requests: chosen?.requests ?? 0, gain: chosen?.gain ?? 0 },
        createdAt: clock(),
      });
    });
  };
}
