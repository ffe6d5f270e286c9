// The passes of learn over helpfulness: the threshold, again and again, and the proxy, where the configuration says how often.
import type { Logger } from "pino";
import { readThresholds } from "../operators/aggregate/thresholds.ts";
import { PROXY } from "../policies/helpfulness.ts";
import { createPublishThreshold, thresholdInForce } from "../operators/publish/publish-threshold.ts";
import { THRESHOLD } from "../policies/threshold.ts";
import { learnThreshold, type learn } from "../pipelines/learn.ts";
import type { PolicyLogs } from "../policies/log.ts";
import type { StageMetrics } from "../runtime/metrics.ts";
import type { SessionOf } from "./session.ts";
import { trainAndPublishProxy } from "./train-proxy.ts";

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

/** Trains when the newest version, or the last attempt of this process, is `everyMs` old. */
export function proxyPass({ session, policies: all, metrics, log }: Learning, everyMs: number): () => Promise<boolean> {
  const { clickhouse, config } = session;
  const policies = all.of(PROXY);
  let tried = 0;
  return async () => {
    if (Date.now() - Math.max(tried, policies.newest()?.createdAt ?? 0) < everyMs) return false;
    const training = await trainAndPublishProxy({ clickhouse, policies, log, clock: Date.now }, config.learn.proxy);
    tried = Date.now();
    const { outcome, kinds } = training;
    if (outcome === "trained" && training.published.outcome === "published") {
      metrics.sent("policies", 1);
      log.info(
        { policy: PROXY, version: training.published.policy.version, kind: training.kind, ...training.metrics },
        "published",
      );
    } else {
      const why = outcome === "trained" ? training.published.outcome : outcome;
      log.info({ policy: PROXY, why, ...kinds }, "no proxy was published");
    }
    return false;
  };
}
