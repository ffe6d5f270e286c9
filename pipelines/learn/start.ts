// What learn needs: the lock, ClickHouse, the versions of the policies that it writes. Followers
// wait for the lock and hold nothing else.
import { FEATURE_COUNT, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { createAggregate, rewardsTakenBack } from "../../operators/aggregate/aggregate.ts";
import { aggregateTables, aggregateWhenChanged } from "../../operators/aggregate/when-changed.ts";
import { createPolicyLogs, policyWriterId } from "../../state/policies/log.ts";
import { HELPFULNESS } from "../../state/policies/helpfulness.ts";
import { routerPrior } from "../../state/policies/prior.ts";
import { createLearnReport } from "../../operators/pass-reports.ts";
import { createPublish } from "../../operators/publish/publish.ts";
import { createRowCounts } from "../../operators/row-counts.ts";
import { BYTE_BUDGET } from "../../state/policies/byte-budget.ts";
import { THRESHOLD } from "../../state/policies/threshold.ts";
import { ROUTER } from "../../state/policies/router.ts";
import { longestTtlMs } from "../../config/sections/cache.ts";
import { createRetract } from "../../operators/retract/retract.ts";
import { learn, retractAnswers } from "./pipeline.ts";
import type { Sent } from "../../runtime/declaration.ts";
import { createStageMetrics } from "../../runtime/metrics/stage.ts";
import type { PlainProducer } from "../../connections/kafka/port.ts";
import { watchPasses } from "../../runtime/pass-health.ts";
import { lazily } from "../../runtime/lazily.ts";
import { repeat } from "../../runtime/repeat.ts";
import { createSingleton, type Lease } from "../../runtime/singleton.ts";
import { openJudgePass } from "./judge.ts";
import { reusePass } from "./reuse.ts";
import { REUSE } from "../../state/policies/reuse.ts";
import { byteBudgetPass } from "./byte-budget.ts";
import { helpfulnessPass, thresholdPass, type Learning } from "./helpfulness.ts";
import { highestPolicyVersion } from "../../state/policies/history.ts";
import { followMargins } from "./cache-margins.ts";
import type { SessionOf } from "../../state/session.ts";
import { groupName, type RunningStage } from "../../runtime/running-stage.ts";

/**
 * So many passes may go by before new decisions and responses are looked at without new feedback.
 */
const latePasses = 5;
/** Reused answers are looked at every so many passes. */
const reusePasses = 5;

export async function startLearn(session: SessionOf<typeof learn>, instance: string): Promise<RunningStage> {
  const { config, kafka, codec, clickhouse, topic } = session;
  const { prefix, sessionTimeoutMs } = config.kafka;
  const { everyMs, threshold, helpfulness } = config.learn;
  const log = session.log.child({ stage: learn.name });
  const metrics = createStageMetrics(session.metrics, learn.name);

  const passes = watchPasses(config.health);

  const task = async (lease: Lease<Sent<typeof learn>>): Promise<void> => {
    const policies = createPolicyLogs({
      producer: lease,
      kafka,
      codec,
      topic: topic("policies"),
      names: [ROUTER, THRESHOLD, HELPFULNESS, REUSE, BYTE_BUDGET],
      highestRecorded: (name) => highestPolicyVersion(clickhouse, name),
      log,
    });
    /**
     * Before the first look, so that what others published is known and a predecessor can publish
     * nothing more.
     */
    const opening = lazily(() => policies.open());
    const opened = (pass: () => Promise<boolean>) => (): Promise<boolean> => opening.get().then(pass);
    const timing = { signal: lease.signal, log };
    const learning = { session, policies, metrics, log };
    const loops = [
      repeat(opened(routerPass(learning)), { ...timing, everyMs, health: passes.of("router") }),
      repeat(opened(thresholdPass(learning)), {
        ...timing,
        everyMs: threshold.everyMs,
        health: passes.of("threshold"),
      }),
    ];
    // Not health's business: an arm that nobody watches is off within the hour
    // (state/policies/reuse.ts).
    loops.push(repeat(opened(reusePass(learning)), { ...timing, everyMs: reusePasses * everyMs }));
    const learnsByteBudget = config.memory.byteBudget === "learnt" && config.cache.enabled;
    const margins = learnsByteBudget && config.memory.caches ? followMargins(session, log) : undefined;
    if (learnsByteBudget)
      loops.push(repeat(opened(byteBudgetPass(learning, margins)), { ...timing, everyMs: config.memory.everyMs }));
    const producer = kafka.plainProducer();
    if (config.cache.enabled)
      loops.push(repeat(retractPass(learning, producer), { ...timing, everyMs, health: passes.of("retract") }));
    if (helpfulness.everyHours !== undefined) {
      const hours = helpfulness.everyHours * 3_600_000;
      // Checked often, rarely due; a training that fails is not repeated at once.
      const patience = { everyMs: Math.min(60_000, hours), maxBackoffMs: hours };
      loops.push(repeat(opened(helpfulnessPass(learning, hours)), { ...timing, ...patience }));
    }
    // Not health's business: a judge that is away only waits.
    const { arm, everyMs: judgeEveryMs } = config.learn.judge;
    const judge = lazily(() => openJudgePass(learning, producer, arm ?? "", lease.signal));
    if (arm !== undefined)
      loops.push(repeat(async () => (await judge.get()).pass(), { ...timing, everyMs: judgeEveryMs }));
    try {
      await Promise.all(loops);
    } finally {
      passes.clear();
      await Promise.all([
        policies.close(),
        producer.close(),
        margins?.stop(),
        judge.opened()?.then((one) => one.close()),
      ]);
    }
  };

  const singleton = createSingleton({
    group: groupName(prefix, learn.name),
    topic: topic("locks"),
    instance,
    sessionTimeoutMs,
    transactionalId: policyWriterId(prefix),
    outputs: [topic("policies")],
    drainMs: config.limits.drainMs,
    kafka,
    task,
    log,
  });
  await singleton.start();
  return { name: learn.name, health: () => ({ ...singleton.health(), ...passes.report() }), stop: singleton.stop };
}

function routerPass({ session, policies, metrics, log }: Learning): () => Promise<boolean> {
  const { config, clickhouse, topic } = session;
  const { everyMs, halfLifeHours, minimumRewards, settleMs, feedback } = config.learn;
  const { priorMean, priorVariance, noiseVariance, statistics, mostTenants, mostDomains } = config.routing;
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
      minimumRewards,
      settleMs,
      takenBack: (since) => rewardsTakenBack(clickhouse, since),
      clock: Date.now,
    }),
    solving: { dimension: FEATURE_COUNT, priorMean, priorVariance, noiseVariance, ...(hierarchy && { hierarchy }) },
    halfLifeHours,
    byTenant,
    observe: metrics.observe,
  });
  const report = createLearnReport({ metrics, log });
  return async () => report(await pass());
}

/** Outside of the policies' transactions: one tombstone too many changes nothing. */
function retractPass(
  { session, metrics, log }: Learning,
  producer: Pick<PlainProducer<Sent<typeof learn>>, "send">,
): () => Promise<boolean> {
  const { config, clickhouse, topic } = session;
  const pass = retractAnswers.bind({
    retract: createRetract({
      clickhouse,
      publish: (keys) => producer.send(keys.map((key) => ({ topic: topic("answers"), key, value: null }))),
      minimumReward: config.cache.minimumReward,
      longestTtlMs: longestTtlMs(config.cache),
      clock: Date.now,
    }),
    observe: metrics.observe,
  });
  return async () => {
    const { retracted } = await pass();
    if (retracted > 0) {
      metrics.sent("answers", retracted);
      log.info({ answers: retracted }, "kept answers were rated badly: they are not given any more");
    }
    return false;
  };
}
