// What learn needs: the lock, ClickHouse, the versions of the policies that it writes. Followers
// wait for the lock and hold nothing else.
import type { Sent } from "../../runtime/declaration.ts";
import { createStageMetrics } from "../../runtime/metrics/stage.ts";
import { watchPasses } from "../../runtime/pass-health.ts";
import { groupName, type RunningStage } from "../../runtime/running-stage.ts";
import { createSingleton, type Lease } from "../../runtime/singleton.ts";
import { HELPFULNESS } from "../../state/policies/helpfulness.ts";
import { highestPolicyVersion } from "../../state/policies/history.ts";
import { createPolicyLogs, policyWriterId } from "../../state/policies/log.ts";
import { REUSE } from "../../state/policies/reuse.ts";
import { ROUTER } from "../../state/policies/router.ts";
import { THRESHOLD } from "../../state/policies/threshold.ts";
import type { SessionOf } from "../../state/session.ts";
import { openPasses } from "./passes.ts";
import { learn } from "./pipeline.ts";

export async function startLearn(session: SessionOf<typeof learn>, instance: string): Promise<RunningStage> {
  const { config, kafka, codec, clickhouse, topic } = session;
  const { prefix, sessionTimeoutMs } = config.kafka;
  const log = session.log.child({ stage: learn.name });
  const metrics = createStageMetrics(session.metrics, learn.name);
  const health = watchPasses(config.health);

  const task = async (lease: Lease<Sent<typeof learn>>): Promise<void> => {
    const policies = createPolicyLogs({
      ...{ producer: lease, kafka, codec, topic: topic("policies"), log },
      names: [ROUTER, THRESHOLD, HELPFULNESS, REUSE],
      highestRecorded: (name) => highestPolicyVersion(clickhouse, name),
    });
    const passes = openPasses({ session, policies, metrics, log }, { health, signal: lease.signal });
    try {
      await Promise.all(passes.loops);
    } finally {
      health.clear();
      await Promise.all([policies.close(), passes.stop()]);
    }
  };

  const singleton = createSingleton({
    ...{ group: groupName(prefix, learn.name), topic: topic("locks"), instance, sessionTimeoutMs },
    transactionalId: policyWriterId(prefix),
    outputs: [topic("policies")],
    drainMs: config.limits.drainMs,
    ...{ kafka, task, log },
  });
  await singleton.start();
  return { name: learn.name, health: () => ({ ...singleton.health(), ...health.report() }), stop: singleton.stop };
}
