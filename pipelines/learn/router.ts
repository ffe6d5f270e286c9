// The pass of learn over rewards: the next version of the router policy.
import { FEATURE_COUNT, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { createAggregate, rewardsTakenBack } from "../../operators/aggregate/aggregate.ts";
import { aggregateTables, aggregateWhenChanged } from "../../operators/aggregate/when-changed.ts";
import { createLearnReport } from "../../operators/pass-reports.ts";
import { createPublish } from "../../operators/publish/publish.ts";
import { createRowCounts } from "../../operators/row-counts.ts";
import { firstGuess, routerPrior } from "../../state/policies/prior.ts";
import { ROUTER } from "../../state/policies/router.ts";
import type { Learning } from "./helpfulness.ts";
import { learn } from "./pipeline.ts";

/** Passes before new decisions and responses are looked at without feedback. */
const latePasses = 5;
/** Sharing domains with effects of their own: those with the most recent rewards. */
const mostDomains = 16;

export function routerPass({ session, policies, metrics, log }: Learning): () => Promise<boolean> {
  const { config, clickhouse, topic } = session;
  const { everyMs, halfLifeHours, settleMs, feedback } = config.learn;
  const { statistics, mostTenants } = config.routing;
  const byTenant = statistics === "tenant" ? { mostTenants } : undefined;
  const { hierarchy } = routerPrior(config.routing);
  const pass = learn.bind({
    aggregate: aggregateWhenChanged({
      aggregate: createAggregate({
        clickhouse,
        topics: {
          ...{ feedback: topic("feedback"), decisions: topic("decisions") },
          ...{ responses: topic("responses"), withdrawals: topic("withdrawals") },
        },
        limits: feedback,
        byTenant,
        mostDomains: hierarchy === undefined ? 0 : mostDomains,
        featureVersion: FEATURE_VERSION,
        dimension: FEATURE_COUNT,
      }),
      counts: createRowCounts(clickhouse, aggregateTables),
      lateMs: latePasses * everyMs,
      clock: Date.now,
    }),
    publish: createPublish({
      policies: policies.of(ROUTER),
      featureVersion: FEATURE_VERSION,
      settleMs,
      takenBack: (since) => rewardsTakenBack(clickhouse, since),
      clock: Date.now,
    }),
    solving: { dimension: FEATURE_COUNT, ...firstGuess, ...(hierarchy && { hierarchy }) },
    halfLifeHours,
    byTenant,
    observe: metrics.observe,
  });
  const report = createLearnReport({ metrics, log });
  return async () => report(await pass());
}
