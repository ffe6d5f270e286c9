// What learn needs: the lock, ClickHouse, the versions of the router policy. Followers wait for the lock and hold nothing else.
import { FEATURE_COUNT, FEATURE_VERSION } from "../algorithms/features.ts";
import { createAggregate } from "../operators/aggregate/aggregate.ts";
import { createPolicyLog, policyWriterId } from "../operators/publish/policy-log.ts";
import { createPublish } from "../operators/publish/publish.ts";
import { ROUTER } from "../operators/route/policy.ts";
import { learn } from "../pipelines/learn.ts";
import { createStageMetrics } from "../runtime/metrics.ts";
import { repeat } from "../runtime/repeat.ts";
import { createSingleton, type Lease } from "../runtime/singleton.ts";
import { highestPolicyVersion } from "./policies.ts";
import type { Session } from "./session.ts";
import { groupName, type RunningStage } from "./stage.ts";

export async function startLearn(session: Session, instance: string): Promise<RunningStage> {
  const { config, kafka, codec, clickhouse, topic } = session;
  const { prefix, sessionTimeoutMs } = config.kafka;
  const { everyMs, halfLifeHours, minimumRewards, settleMs } = config.learn;
  const { priorMean, priorVariance, noiseVariance } = config.routing;
  const log = session.log.child({ stage: learn.name });
  const metrics = createStageMetrics(session.metrics, learn.name);

  const task = async (lease: Lease): Promise<void> => {
    const policies = createPolicyLog({
      producer: lease,
      kafka,
      codec,
      topic: topic("policies"),
      name: ROUTER,
      highestRecorded: () => highestPolicyVersion(clickhouse, ROUTER),
      log,
    });
    const pass = learn.bind({
      aggregate: createAggregate({
        clickhouse,
        topics: { feedback: topic("feedback"), decisions: topic("decisions") },
        featureVersion: FEATURE_VERSION,
        dimension: FEATURE_COUNT,
      }),
      publish: createPublish({ policies, featureVersion: FEATURE_VERSION, minimumRewards, settleMs, clock: Date.now }),
      solving: { dimension: FEATURE_COUNT, priorMean, priorVariance, noiseVariance },
      halfLifeHours,
      observe: metrics.observe,
    });
    let opened = false;
    let told = "";
    const onePass = async (): Promise<boolean> => {
      if (!opened) {
        // Before the first look, so that what others published is known and a predecessor can publish nothing more.
        await policies.open();
        opened = true;
      }
      const { rows, more, published, problems } = await pass();
      metrics.received(rows);
      if (published.outcome === "published") {
        metrics.sent("policies", 1);
        const { version, metrics: figures } = published.policy;
        log.info({ policy: ROUTER, version, rewards: figures.rewards, meanReward: figures.mean_reward }, "published");
      }
      // What stays as it is is said once.
      const state = [published.outcome === "paused" ? "learning is paused by a revert" : "", ...problems].join("; ");
      if (state !== told && state !== "") log.warn({ policy: ROUTER, problems }, state);
      told = state;
      return more;
    };
    try {
      await repeat(onePass, { everyMs, signal: lease.signal, log });
    } finally {
      await policies.close();
    }
  };

  const singleton = createSingleton({
    group: groupName(prefix, learn.name),
    topic: topic("locks"),
    instance,
    sessionTimeoutMs,
    transactionalId: policyWriterId(prefix),
    drainMs: config.limits.drainMs,
    kafka,
    task,
    log,
  });
  await singleton.start();
  return { name: learn.name, health: singleton.health, stop: singleton.stop };
}
