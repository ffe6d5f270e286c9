// What curate needs: the lock, ClickHouse and, once there is a candidate, the embedder and the
// pool. Followers wait for the lock and hold nothing else.
import { createStageMetrics } from "../../runtime/metrics/stage.ts";
import { watchPasses } from "../../runtime/pass-health.ts";
import { groupName, type RunningStage } from "../../runtime/running-stage.ts";
import { createSingleton } from "../../runtime/singleton.ts";
import type { SessionOf } from "../../state/session.ts";
import { runPasses } from "./passes.ts";
import { curate } from "./pipeline.ts";

export async function startCurate(session: SessionOf<typeof curate>, instance: string): Promise<RunningStage> {
  const { config, kafka, topic } = session;
  const { prefix, sessionTimeoutMs } = config.kafka;
  const log = session.log.child({ stage: curate.name });
  const group = groupName(prefix, curate.name);
  const metrics = createStageMetrics(session.metrics, curate.name);
  const passes = watchPasses(config.health);
  const singleton = createSingleton({
    group,
    topic: topic("locks"),
    instance,
    sessionTimeoutMs,
    transactionalId: `${group}.writer`,
    outputs: [topic("examples")],
    kafka,
    task: (lease) => runPasses(session, { instance, lease, passes, metrics, log }),
    log,
  });
  await singleton.start();
  return { name: curate.name, health: () => ({ ...singleton.health(), ...passes.report() }), stop: singleton.stop };
}
