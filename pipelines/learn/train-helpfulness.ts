// Trains the helpfulness model on what ClickHouse holds and publishes it: what `precedent proxy
// train` and learn's timer do.
import type { Logger } from "pino";
import { HELPFULNESS_FEATURES, HELPFULNESS_FEATURE_VERSION } from "../../algorithms/selection/helpfulness-features.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { createProxyRows, type ProxyRow, type ProxyRows } from "../../operators/aggregate/proxy-rows.ts";
import { PROXY } from "../../state/policies/helpfulness.ts";
import { isPaused, type PolicyLog } from "../../state/policies/log.ts";
import { createPublishProxy, type PublishedProxy, type TrainedProxy } from "../../operators/publish/publish-proxy.ts";
import type { StageMetrics } from "../../runtime/metrics/port.ts";

export interface TrainProxyDependencies {
  clickhouse: Pick<ClickHouse, "query">;
  policies: PolicyLog;
  log: Logger;
  /** Milliseconds since the epoch. */
  clock: () => number;
  /** connections/training/helpfulness.ts. */
  train: (rows: readonly ProxyRow[], options: { log: Logger }) => Promise<Trained>;
}

/** kind: trees, network or linear. */
export type Trained = TrainedProxy & { kind: string };

export interface TrainProxyOptions {
  /** Rows trained on at most, and at least. */
  rows: number;
  minimumRows: number;
  /** Publish it also when it is no better than similarity. */
  force?: boolean;
}

interface Evidence extends Pick<ProxyRows, "kinds" | "trainedThrough"> {
  outcome: string;
}
export type ProxyTraining = Evidence &
  (
    | { outcome: "few" }
    | { outcome: "paused" }
    | { outcome: "trained"; kind: string; metrics: Record<string, number>; published: PublishedProxy }
  );

/** Rows as the features of this version make them. */
export const proxyRows = (clickhouse: Pick<ClickHouse, "query">, limit: number): Promise<ProxyRows> =>
  createProxyRows({
    clickhouse,
    featureVersion: HELPFULNESS_FEATURE_VERSION,
    featureCount: HELPFULNESS_FEATURES,
  })(limit);

/**
 * Minutes, in a process of its own. Needs `policies` opened. Rejects as ClickHouse, the trainer and
 * PolicyLog do.
 */
export async function trainAndPublishProxy(
  { clickhouse, policies, log, clock, train }: TrainProxyDependencies,
  { rows: limit, minimumRows, force = false }: TrainProxyOptions,
): Promise<ProxyTraining> {
  const { rows, kinds, trainedThrough } = await proxyRows(clickhouse, limit);
  // A revert stands whatever would be learnt; that is known before minutes are spent.
  if (isPaused(policies)) return { outcome: "paused", kinds, trainedThrough };
  if (rows.length < minimumRows) return { outcome: "few", kinds, trainedThrough };
  log.info({ rows: rows.length, ...kinds }, "the helpfulness model is being trained");
  const trained = await train(rows, { log });
  const published = await createPublishProxy({ policies, clock })(trained, { trainedThrough, force });
  return { outcome: "trained", kinds, trainedThrough, kind: trained.kind, metrics: trained.metrics, published };
}

/**
 * Trains when the newest version, or the last attempt of this process, is `everyMs` old. Needs
 * `policies` opened; a pass for repeat().
 */
export function createProxyPass(
  { metrics, ...dependencies }: TrainProxyDependencies & { metrics: Pick<StageMetrics, "sent"> },
  { everyMs, ...options }: TrainProxyOptions & { everyMs: number },
): () => Promise<boolean> {
  const { policies, log, clock } = dependencies;
  let tried = 0;
  return async () => {
    if (clock() - Math.max(tried, policies.newest()?.createdAt ?? 0) < everyMs) return false;
    const training = await trainAndPublishProxy(dependencies, options);
    tried = clock();
    const { outcome, kinds } = training;
    if (outcome === "trained" && training.published.outcome === "published") {
      metrics.sent("policies", 1);
      const { version } = training.published.policy;
      log.info({ policy: PROXY, version, kind: training.kind, ...training.metrics }, "published");
    } else {
      const why = outcome === "trained" ? training.published.outcome : outcome;
      log.info({ policy: PROXY, why, ...kinds }, "no helpfulness model was published");
    }
    return false;
  };
}
