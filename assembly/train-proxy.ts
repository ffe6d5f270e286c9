// Trains the helpfulness proxy on what ClickHouse holds and publishes it: what `precedent proxy train` and learn's timer do.
import type { Logger } from "pino";
import { HELPFULNESS_FEATURES, HELPFULNESS_FEATURE_VERSION } from "../algorithms/helpfulness-features.ts";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import { createProxyRows, type ProxyRow, type ProxyRows } from "../operators/aggregate/proxy-rows.ts";
import { isPaused, type PolicyLog } from "../policies/log.ts";
import { createPublishProxy, type PublishedProxy, type TrainedProxy } from "../operators/publish/publish-proxy.ts";

export interface TrainProxyDependencies {
  clickhouse: Pick<ClickHouse, "query">;
  policies: PolicyLog;
  log: Logger;
  /** Milliseconds since the epoch. */
  clock: () => number;
  /** jobs/train-proxy.ts by default. */
  train?: (rows: readonly ProxyRow[], options: { log: Logger }) => Promise<Trained>;
}

/** kind: trees, network or linear. */
type Trained = TrainedProxy & { kind: string };

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

/** Loaded when it is needed: a job's tools are none of a running stage's. */
async function runJob(rows: readonly ProxyRow[], options: { log: Logger }): Promise<Trained> {
  const { trainProxy } = await import("../jobs/train-proxy.ts");
  return trainProxy(rows, options);
}

/** Minutes, in a process of its own. Needs `policies` opened. Rejects as ClickHouse, the trainer and PolicyLog do. */
export async function trainAndPublishProxy(
  { clickhouse, policies, log, clock, train = runJob }: TrainProxyDependencies,
  { rows: limit, minimumRows, force = false }: TrainProxyOptions,
): Promise<ProxyTraining> {
  const { rows, kinds, trainedThrough } = await proxyRows(clickhouse, limit);
  // A revert stands whatever would be learnt; that is known before minutes are spent.
  if (isPaused(policies)) return { outcome: "paused", kinds, trainedThrough };
  if (rows.length < minimumRows) return { outcome: "few", kinds, trainedThrough };
  log.info({ rows: rows.length, ...kinds }, "the proxy is being trained");
  const trained = await train(rows, { log });
  const published = await createPublishProxy({ policies, clock })(trained, { trainedThrough, force });
  return { outcome: "trained", kinds, trainedThrough, kind: trained.kind, metrics: trained.metrics, published };
}
