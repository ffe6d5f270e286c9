// What passes of curate and learn did, in metrics and log, and whether there is more to do.
import type { Logger } from "pino";
import { ROUTER } from "../state/policies/router.ts";
import type { StageMetrics } from "../runtime/metrics/port.ts";
import type { Decided } from "./admit/decide.ts";
import type { Eviction } from "./evict/evict.ts";
import type { Solved } from "./learnt.ts";
import type { Published } from "./publish/publish.ts";

export interface ReportDependencies {
  metrics: StageMetrics;
  log: Logger;
}

interface Curated extends Decided {
  evicted: readonly Eviction[];
  more: boolean;
}

export function createCurateReport({ metrics, log }: ReportDependencies) {
  return function report({ decided, waiting, evicted, more }: Curated): boolean {
    const admissions = decided.map(({ admission }) => admission);
    metrics.received(admissions.length);
    for (const { reason } of admissions) if (reason !== null) metrics.dropped(reason);
    const changed = admissions.reduce((sum, { changes }) => sum + changes.length, 0) + evicted.length;
    if (changed > 0) metrics.sent("examples", changed);
    const admitted = admissions.filter(({ outcome }) => outcome === "admitted" || outcome === "replaced").length;
    if (admitted + evicted.length > 0) log.info({ admitted, evicted: evicted.length }, "examples changed");
    return more && waiting === 0;
  };
}

interface Learnt {
  rows: number;
  more: boolean;
  solved: Solved;
  published: Published;
}

export function createLearnReport({ metrics, log }: ReportDependencies) {
  let reported = "";
  return function report({ rows, more, solved: { problems }, published }: Learnt): boolean {
    metrics.received(rows);
    if (published.outcome === "published") {
      metrics.sent("policies", 1);
      const { version, metrics: figures } = published.policy;
      log.info({ policy: ROUTER, version, rewards: figures.rewards, meanReward: figures.mean_reward }, "published");
    }
    // What stays as it is is said once.
    const state = [published.outcome === "paused" ? "learning is paused by a revert" : "", ...problems].join("; ");
    if (state !== reported && state !== "") log.warn({ policy: ROUTER, problems }, state);
    reported = state;
    return more;
  };
}
