// Publishes a helpfulness model, unless it is no better than others, or after a revert.
import type { Policy } from "../../schemas/types.ts";
import { isPaused, type PolicyLog } from "../../state/policies/log.ts";
import { policyRecord } from "../../state/policies/record.ts";
import { encodeHelpfulnessBody, HELPFULNESS, HELPFULNESS_KIND } from "../../state/policies/helpfulness.ts";

/** What training gives. metrics has `auc` and `auc_similarity`, both on requests held out. */
export interface TrainedHelpfulness {
  onnx: Uint8Array;
  metrics: Record<string, number>;
  featureVersion: number;
}

export type PublishedHelpfulness =
  | { outcome: "published"; policy: Policy }
  /** A revert stands, or it is no better than similarity. */
  | { outcome: "paused" | "worse" };

export interface PublishHelpfulnessOptions {
  trainedThrough: number | null;
  force?: boolean;
}

export interface PublishHelpfulnessDependencies {
  policies: PolicyLog;
  clock: () => number;
}

/** AUC of guessing. */
const chance = 0.5;

/** Rejects as PolicyLog does, RangeError when the model is too large. Repeatable. */
export function createPublishHelpfulness({ policies, clock }: PublishHelpfulnessDependencies) {
  return async function publishHelpfulness(
    { onnx, metrics, featureVersion }: TrainedHelpfulness,
    { trainedThrough, force = false }: PublishHelpfulnessOptions,
  ): Promise<PublishedHelpfulness> {
    const { body, hash } = encodeHelpfulnessBody(onnx);
    const { auc = Number.NaN, auc_similarity: similarity = Number.NaN } = metrics;
    // Also where one of them could not be measured.
    if (!force && !(auc > Math.max(similarity, chance))) return { outcome: "worse" };
    // What others published is known only to a writer.
    await policies.open();
    const policy = await policies.append((version) =>
      isPaused(policies)
        ? null
        : policyRecord({
            name: HELPFULNESS,
            version,
            kind: HELPFULNESS_KIND,
            body,
            hash,
            featureVersion,
            trainedThrough,
            metrics: Object.fromEntries(Object.entries(metrics).filter(([, value]) => Number.isFinite(value))),
            createdAt: clock(),
          }),
    );
    return policy === null ? { outcome: "paused" } : { outcome: "published", policy };
  };
}
