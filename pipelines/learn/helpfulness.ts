// The passes of learn over helpfulness: the threshold, again and again, and the helpfulness model,
// where the configuration says how often.
import type { Logger } from "pino";
import { readThresholds } from "../../operators/aggregate/thresholds.ts";
import { HELPFULNESS } from "../../state/policies/helpfulness.ts";
import { createPublishThreshold, thresholdInForce } from "../../operators/publish/publish-threshold.ts";
import { THRESHOLD } from "../../state/policies/threshold.ts";
import { learnThreshold, type learn } from "./pipeline.ts";
import type { PolicyLogs } from "../../state/policies/log.ts";
import type { StageMetrics } from "../../runtime/metrics/port.ts";
import type { SessionOf } from "../../state/session.ts";
import { createHelpfulnessPass } from "./train-helpfulness.ts";
import { trainHelpfulness } from "./train.ts";

/** What a pass of learn works with. The policies are open when it begins. */
export interface Learning {
  session: SessionOf<typeof learn>;
  policies: PolicyLogs;
  metrics: StageMetrics;
  log: Logger;
}

export function thresholdPass({ session, policies: all, metrics, log }: Learning): () => Promise<boolean> {
  const policies = all.of(THRESHOLD);
  const pass = learnThreshold.bind({
    aggregate: () => readThresholds(session.clickhouse),
    inForce: () => thresholdInForce(policies),
    publish: createPublishThreshold({ policies, clock: Date.now }),
    choosing: session.config.learn.threshold,
    observe: metrics.observe,
  });
  return async () => {
    const { published } = await pass();
    if (published === null) return false;
    metrics.sent("policies", 1);
    log.info({ policy: THRESHOLD, version: published.version, ...published.metrics }, "published");
    return false;
  };
}

export const helpfulnessPass = (
  { session, policies, metrics, log }: Learning,
  everyMs: number,
): (() => Promise<boolean>) =>
  createHelpfulnessPass(
    {
      clickhouse: session.clickhouse,
      policies: policies.of(HELPFULNESS),
      clock: Date.now,
      train: trainHelpfulness,
      metrics,
      log,
    },
    { ...session.config.learn.helpfulness, everyMs },
  );
