// What plan needs, opened in order. The first request of a partition is taken only when policies,
// examples and the partition's ids are restored.
import { randomBytes } from "node:crypto";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { ArmConfig } from "../../config/schema.ts";
import { openCall } from "../../operators/call/open.ts";
import { openDeduplicate } from "../../operators/deduplicate/open.ts";
import { openRoute } from "../../operators/route/open.ts";
import { openSelect } from "../../operators/select/open.ts";
import type { RunningStage } from "../../runtime/running-stage.ts";
import type { BreakersOf } from "../../state/breakers/breakers.ts";
import { createCachedShares } from "../../state/cached-shares.ts";
import type { CancelsOf } from "../../state/cancels.ts";
import { shareCalls } from "../../state/inline-calls.ts";
import { followPartitionCount } from "../../state/partition-count.ts";
import type { SessionOf } from "../../state/session.ts";
import { assembleStage } from "../stage.ts";
import { openEngines } from "../../arms/engines.ts";
import { openInlineArms } from "./inline-arms.ts";
import { monitoredArms } from "./monitored-arms.ts";
import { plan } from "./pipeline.ts";
import { openTables } from "./tables.ts";

export interface RunningPlan extends RunningStage {
  /** Rejects, with nothing changed, when a new inline arm can't be made. */
  replaceArms(next: readonly ArmConfig[], bringIntoForce: () => Promise<void>): Promise<void>;
}

export async function startPlan(
  session: SessionOf<typeof plan>,
  instance: string,
  breakersOf: BreakersOf,
  cancelsOf: CancelsOf,
): Promise<RunningPlan> {
  const breakers = breakersOf(session);
  const { config, kafka, logReplay } = session;
  const log = session.log.child({ stage: plan.name });
  const clock = logReplay?.clock ?? Date.now;
  const cached = createCachedShares(clock);
  const inline = await openInlineArms(session, breakers, cached);
  const tables = await openTables(session, { instance, clock, log });
  const { documents, policies, examples, lookup, helpfulness, sent } = tables;
  const select = openSelect(session, { pool: examples.pool, helpfulness, clock, log });
  const calls = shareCalls(session, { own: inline.calls, instance, log });
  // A log replay's arms call no engine.
  const engines = logReplay ? undefined : openEngines(session.arms.configured, log, inline.replicas);
  const monitored = () => monitoredArms(session, calls, engines);
  const route = openRoute(session, { policies, breakers, cached, monitored, clock, log });
  const replies = await followPartitionCount(kafka, { topic: session.topic("responses"), log });
  const call = await openCall(session, { breakers, log });
  const deduplicate = openDeduplicate(session, { sent: sent.find, clock, log });
  const pipeline = plan.bind({
    ...{ ...deduplicate.dependencies, ...lookup.dependencies, ...select.dependencies },
    ...{ ...route.dependencies, ...call.dependencies },
    ...{ embedder: examples.embedder, documents: documents.table, arms: session.arms.routed, inline: inline.of },
    isBatch: (name) => session.arms.routed().some((arm) => arm.name === name && arm.batch === true),
    ...{ cancels: cancelsOf(session).watch, limits: config.limits, partitions: replies.now, clock },
    isPinned: (version) => policies.router.version(version).problem === null,
    ...{ routing: config.routing, experiments: config.experiments, unitSecret: config.privacy.redact.secret },
    random: logReplay?.random ?? splitmix64(randomBytes(8).readBigUInt64LE()),
  });
  const stage = assembleStage(session, {
    ...{ pipeline, instance },
    onAdopt: (partitions) => deduplicate.adopt(partitions.map(({ partition }) => partition)),
    onDropped: ({ partition }) => deduplicate.drop(partition),
  });
  await stage.start();
  const stop = async (): Promise<void> => {
    await stage.stop();
    route.stop();
    engines?.stop();
    replies.stop();
    await documents.stop();
    await Promise.all([inline.close(), calls.stop(), call.stop(), deduplicate.stop()]);
    await Promise.all([tables.stop(), select.stop()]);
  };
  return { name: stage.name, health: stage.health, replaceArms: inline.replace, stop };
}
