// What generate needs: one arm.
import { join } from "node:path";
import { armOpener } from "../arms.ts";
import type { ArmConfig } from "../../config/schema.ts";
import { generate } from "./pipeline.ts";
import { tenantWeight } from "../../config/tenants.ts";
import { fixedSplit } from "../../config/sections/memory.ts";
import { measuredMs, stepOf } from "../../operators/solve/byte-budget.ts";
import { firstCacheBytes, followCacheByteBudget } from "../../state/response-cache/byte-budget.ts";
import { keepAnswers } from "../response-cache.ts";
import type { Breakers, BreakersOf } from "../../state/breakers/breakers.ts";
import type { CancelsOf } from "../../state/cancels.ts";
import { forgetGoneExamples } from "../../state/inventory/example-caches.ts";
import { fallbackOf } from "../fallback.ts";
import { publishInventory } from "../../state/inventory/inventory.ts";
import { publishDeltas } from "../../state/deltas.ts";
import { createLinkHistory } from "../../state/link-history.ts";
import { followPartitionCount } from "../../state/partition-count.ts";
import { redactsResponses } from "../redact.ts";
import type { SessionOf } from "../../state/session.ts";
import { stageName, type RunningStage } from "../../runtime/running-stage.ts";
import { assembleStage } from "../stage.ts";

export async function startGenerate(
  session: SessionOf<typeof generate>,
  instance: string,
  config: ArmConfig,
  breakersOf: BreakersOf<Pick<Breakers, "guard" | "state">>,
  cancelsOf: CancelsOf,
): Promise<RunningStage> {
  const breakers = breakersOf(session);
  const log = session.log.child({ stage: stageName("generate", config.name) });
  const { limits, stack } = session.config;
  const bound = config.type === "llama" ? config.linked.maxKl : 0;
  const history = createLinkHistory({ ...session, log }, { arm: config.name, bound });
  // A log replay has nothing to learn from, and a folder of its own.
  const budget = session.logReplay
    ? undefined
    : { arm: config.name, clickhouse: session.clickhouse, fixed: fixedSplit(session.config), log };
  const diskBytes = budget && (await firstCacheBytes(budget));
  const { memory } = session.config;
  const arm = await armOpener(session)(config, {
    log,
    kvFolder: join(stack.folder, "kv"),
    history,
    caches:
      budget && diskBytes !== undefined
        ? { diskBytes, margin: { step: stepOf(budget.fixed, memory), windowMs: measuredMs(memory.everyMs) } }
        : undefined,
    weightOf: tenantWeight(limits),
  });
  const replies = await followPartitionCount(session.kafka, { topic: session.topic("responses"), log });
  const deltas = await publishDeltas(session, log);
  const redact = redactsResponses(session, log);
  const pipeline = generate.bind({
    arm: breakers.guard(config.name, arm),
    // A name may end in the next piece: of answers that are redacted there are no pieces.
    deltas: redact === undefined ? deltas.open : undefined,
    cancels: cancelsOf(session).watch,
    fallback: fallbackOf(session, breakers),
    keep: keepAnswers(session, log),
    redact,
    ...{ limits, partitions: replies.now, clock: session.logReplay?.clock ?? Date.now },
  });
  const stage = assembleStage(session, { pipeline, instance, arm: config.name });
  await stage.start();
  const inventory = publishInventory(session, { arm, instance, log });
  // A log replay has other examples than the pool whose caches lie in the folder.
  const { clickhouse } = session;
  const resized =
    budget && diskBytes !== undefined ? followCacheByteBudget(arm, { ...budget, first: diskBytes }) : undefined;
  const gone = session.logReplay ? undefined : forgetGoneExamples({ arm, clickhouse, clock: Date.now, log });
  return {
    name: stage.name,
    health: stage.health,
    async stop() {
      replies.stop();
      await Promise.all([stage.stop(), inventory.stop(), gone?.stop(), resized?.stop()]);
      await Promise.all([arm.close(), deltas.stop()]);
      await history.close();
    },
  };
}
