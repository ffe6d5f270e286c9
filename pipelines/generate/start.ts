// What generate needs: one arm.
import { join } from "node:path";
import { armOpener } from "../arms.ts";
import type { ArmConfig } from "../../config/schema.ts";
import { answersBatches } from "../../config/sections/arms.ts";
import { buildsCaches } from "../../arms/llama/input.ts";
import { followDocumentBuilds } from "./document-builds.ts";
import { generate } from "./pipeline.ts";
import { tenantWeight } from "../../config/tenants.ts";
import { openCall } from "../../operators/call/open.ts";
import type { Breakers, BreakersOf } from "../../state/breakers/breakers.ts";
import type { CancelsOf } from "../../state/cancels.ts";
import { forgetGone } from "../../state/inventory/gone-caches.ts";
import { createBuildAgenda } from "../../state/inventory/agenda.ts";
import { publishInventory } from "../../state/inventory/inventory.ts";
import { createLinkHistory } from "../../state/link-history.ts";
import { followPartitionCount } from "../../state/partition-count.ts";
import { openBatchRecords } from "../../state/submitted-batches.ts";
import type { SessionOf } from "../../state/session.ts";
import { stageName, type RunningStage } from "../../runtime/running-stage.ts";
import { withTimeout } from "../../runtime/with-timeout.ts";
import { assembleStage } from "../stage.ts";

/** Lines of provider batches under way: what the committed position of a partition can skip. */
const mostBatchLines = 16_384;
const dayMs = 86_400_000;

/** For the end of what was opened for a stage that can't be started. */
const closingMs = 5_000;

/** Rejects, with nothing of it left running, when the arm or its stage can't be opened. */
export async function startGenerate(
  session: SessionOf<typeof generate>,
  instance: string,
  config: ArmConfig,
  breakersOf: BreakersOf<Pick<Breakers, "guard" | "state">>,
  cancelsOf: CancelsOf,
): Promise<RunningStage> {
  const stops: (() => unknown)[] = [];
  const breakers = breakersOf(session);
  const log = session.log.child({ stage: stageName("generate", config.name) });
  const { limits, stack } = session.config;
  const bounds = config.type === "llama" ? config.linked.maxKl : { short: 0, long: 0 };
  const history = createLinkHistory({ ...session, log }, { arm: config.name, bounds });
  const batchRecords = openBatchRecords({ ...session, log });
  const documents =
    config.type === "llama" && config.linked.policy !== "full" && !session.logReplay
      ? followDocumentBuilds(session, { arm: config, log, builds: buildsCaches(config) })
      : undefined;
  stops.push(history.close, batchRecords.close, () => documents?.stop());
  try {
    const arm = await armOpener(session)(config, {
      log,
      kvFolder: join(stack.folder, "kv"),
      ...{ history, batchRecords },
      // A log replay has other examples than the pool.
      agenda: session.logReplay ? undefined : createBuildAgenda(session, config.name),
      documents,
      weightOf: tenantWeight(limits),
    });
    stops.push(arm.close);
    const replies = await followPartitionCount(session.kafka, { topic: session.topic("responses"), log });
    stops.push(replies.stop);
    const call = await openCall(session, { breakers, log });
    stops.push(call.stop);
    const pipeline = generate.bind({
      arm: breakers.guard(config.name, arm),
      ...call.dependencies,
      cancels: cancelsOf(session).watch,
      ...{ limits, partitions: replies.now, clock: session.logReplay?.clock ?? Date.now },
    });
    const stage = assembleStage(session, {
      ...{ pipeline, instance, arm: config.name },
      // Lines wait for a day, nothing else is in their topic, and another process finds them again.
      ...(answersBatches(config) && {
        limits: { inFlight: mostBatchLines, drainMs: Math.min(limits.drainMs, 2_000) },
        slowestMs: dayMs,
      }),
    });
    stops.push(stage.stop);
    await stage.start();
    const inventory = publishInventory(session, { arm, instance, log });
    // A log replay has other examples than the pool whose caches lie in the folder.
    const { clickhouse } = session;
    const gone = session.logReplay ? undefined : forgetGone({ arm, documents, clickhouse, clock: Date.now, log });
    return {
      name: stage.name,
      health: stage.health,
      async stop() {
        replies.stop();
        await Promise.all([stage.stop(), inventory.stop(), gone?.stop()]);
        await Promise.all([arm.close(), call.stop(), documents?.stop()]);
        await Promise.all([history.close(), batchRecords.close()]);
      },
    };
  } catch (error) {
    // This process goes on with other arms, and must keep no model and no reader of this one.
    await withTimeout(closingMs, Promise.allSettled(stops.map(async (stop) => stop())));
    throw error;
  }
}
