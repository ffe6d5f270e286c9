// Trains the helpfulness model on what ClickHouse holds and publishes it: what `precedent
// helpfulness train` and learn's timer do.
import type { Logger } from "pino";
import { HELPFULNESS_FEATURES, HELPFULNESS_FEATURE_VERSION } from "../../algorithms/selection/helpfulness-features.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import {
  createHelpfulnessRows,
  type HelpfulnessRow,
  type HelpfulnessEvidence,
} from "../../operators/aggregate/helpfulness-rows.ts";
import { HELPFULNESS } from "../../state/policies/helpfulness.ts";
import { isPaused, type PolicyLog } from "../../state/policies/log.ts";
import {
  createPublishHelpfulness,
  type PublishedHelpfulness,
  type TrainedHelpfulness,
} from "../../operators/publish/publish-helpfulness.ts";
import type { StageMetrics } from "../../runtime/metrics/port.ts";

export interface TrainHelpfulnessDependencies {
  clickhouse: Pick<ClickHouse, "query">;
  policies: PolicyLog;
  log: Logger;
  clock: () => number;
  train: (rows: readonly HelpfulnessRow[], options: { log: Logger }) => Promise<Trained>;
}

/** kind: trees, network or linear. */
export type Trained = TrainedHelpfulness & { kind: string };

export interface TrainHelpfulnessOptions {
  /** Rows trained on at most, and at least. */
  rows?: number;
  minimumRows: number;
  force?: boolean;
}

interface Evidence extends Pick<HelpfulnessEvidence, "kinds" | "trainedThrough"> {
  outcome: string;
}
export type HelpfulnessTraining = Evidence &
  (
    | { outcome: "few" }
    | { outcome: "paused" }
    | { outcome: "trained"; kind: string; metrics: Record<string, number>; published: PublishedHelpfulness }
  );

/** Rows of a training at most: trials first, then the newest. */
const mostRows = 50_000;

export const helpfulnessRows = (
  clickhouse: Pick<ClickHouse, "query">,
  limit = mostRows,
): Promise<HelpfulnessEvidence> =>
  createHelpfulnessRows({
    clickhouse,
    featureVersion: HELPFULNESS_FEATURE_VERSION,
    featureCount: HELPFULNESS_FEATURES,
  })(limit);

/** Minutes, in its own process. Needs `policies` opened. Rejects as its parts do. */
export async function trainAndPublishHelpfulness(
  { clickhouse, policies, log, clock, train }: TrainHelpfulnessDependencies,
  { rows: limit = mostRows, minimumRows, force = false }: TrainHelpfulnessOptions,
): Promise<HelpfulnessTraining> {
  const { rows, kinds, trainedThrough } = await helpfulnessRows(clickhouse, limit);
  // A revert stands whatever would be learnt; that is known before minutes are spent.
  if (isPaused(policies)) return { outcome: "paused", kinds, trainedThrough };
  if (rows.length < minimumRows) return { outcome: "few", kinds, trainedThrough };
  log.info({ rows: rows.length, ...kinds }, "the helpfulness model is being trained");
  const trained = await train(rows, { log });
  const published = await createPublishHelpfulness({ policies, clock })(trained, { trainedThrough, force });
  return { outcome: "trained", kinds, trainedThrough, kind: trained.kind, metrics: trained.metrics, published };
}

/** Trains when the newest version or attempt is `everyMs` old. Needs `policies` opened. */
export function createHelpfulnessPass(
  { metrics, ...dependencies }: TrainHelpfulnessDependencies & { metrics: Pick<StageMetrics, "sent"> },
  { everyMs, ...options }: TrainHelpfulnessOptions & { everyMs: number },
): () => Promise<boolean> {
  const { policies, log, clock } = dependencies;
  let tried = 0;
  return async () => {
    if (clock() - Math.max(tried, policies.newest()?.createdAt ?? 0) < everyMs) return false;
    const training = await trainAndPublishHelpfulness(dependencies, options);
    tried = clock();
    const { outcome, kinds } = training;
    if (outcome === "trained" && training.published.outcome === "published") {
      metrics.sent("policies", 1);
      const { version } = training.published.policy;
      log.info({ policy: HELPFULNESS, version, kind: training.kind, ...training.metrics }, "published");
    } else {
      const why = outcome === "trained" ? training.published.outcome : outcome;
      log.info({ policy: HELPFULNESS, why, ...kinds }, "no helpfulness model was published");
    }
    return false;
  };
}
