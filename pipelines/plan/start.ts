// What plan needs: the embedder, the example pool, whole or the share of its partitions, the
// policies as a global table, the ids seen, the load of the arms. The first request of a partition
// is taken only when the policies and its examples are restored.
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { createSharedDomains } from "../../algorithms/selection/shared-domains.ts";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { armOpener } from "../arms.ts";
import type { ArmConfig } from "../../config/schema.ts";
import { tenantWeight } from "../../config/tenants.ts";
import { openDocuments } from "../../connections/documents/lmdb.ts";
import { loadHelpfulnessModel } from "../../connections/helpfulness/onnx.ts";
import { createByteBudgetTable } from "../../state/policies/byte-budget.ts";
import { fixedSplit } from "../../config/sections/memory.ts";
import { createPlacementTable, type PlacementMode } from "../../state/policies/placement.ts";
import { createReuseTable, REUSE } from "../../state/policies/reuse.ts";
import { createReuseMetrics } from "../../operators/route/metrics.ts";
import { createFirstResponses } from "../../operators/deduplicate/first-responses.ts";
import { createSeenIds } from "../../operators/deduplicate/seen.ts";
import { createSharedResponses } from "../../operators/deduplicate/shared-responses.ts";
import { ROUTER } from "../../state/policies/router.ts";
import { createPolicyTable } from "../../state/policies/router-table.ts";
import { createShadowTable } from "../../state/policies/shadow.ts";
import { plan } from "./pipeline.ts";
import { createLoadMonitor } from "../../state/load/load.ts";
import { monitoredArms } from "./monitored-arms.ts";
import { createLoadMetrics } from "../../state/load/metrics.ts";
import { createSelectionMetrics } from "../../operators/select/metrics.ts";
import { createStageMetrics } from "../../runtime/metrics/stage.ts";
import { followTable } from "../../runtime/table.ts";
import { createPolicyMetrics } from "../../state/policies/metrics.ts";
import { holdExamples, type HeldExamples } from "../examples.ts";
import { holdAnswers, keepAnswers } from "../response-cache.ts";
import { fallbackOf } from "../fallback.ts";
import { atMost } from "../../runtime/at-most.ts";
import type { BreakersOf } from "../../state/breakers/breakers.ts";
import type { CancelsOf } from "../../state/cancels.ts";
import { restoreSeenIds } from "./seen.ts";
import { publishDeltas } from "../../state/deltas.ts";
import { holdDocuments } from "../../state/documents.ts";
import { holdHelpfulness } from "../../state/helpfulness/helpfulness.ts";
import { createInlineArms } from "../../state/inline-arms.ts";
import { shareCalls } from "../../state/inline-calls.ts";
import { followInventories } from "../../state/inventory/inventory.ts";
import { followPartitionCount } from "../../state/partition-count.ts";
import { redactsFirst, redactsResponses } from "../redact.ts";
import { createSentResponses } from "./sent-responses.ts";
import type { SessionOf } from "../../state/session.ts";
import { stageName, type RunningStage } from "../../runtime/running-stage.ts";
import { assembleStage } from "../stage.ts";

/**
 * The first request does not wait for a helpfulness model that takes longer to load: until then
 * similarity stands in.
 */
const helpfulnessMs = 10_000;

export interface RunningPlan extends RunningStage {
  /**
   * Opens the inline arms that are new before `bringIntoForce` lets them be chosen; rejects, with
   * nothing changed, when one can't be made.
   */
  replaceArms(next: readonly ArmConfig[], bringIntoForce: () => Promise<void>): Promise<void>;
}

export async function startPlan(
  session: SessionOf<typeof plan>,
  instance: string,
  breakersOf: BreakersOf,
  cancelsOf: CancelsOf,
): Promise<RunningPlan> {
  const breakers = breakersOf(session);
  const { config, kafka, codec, clickhouse } = session;
  const log = session.log.child({ stage: "plan" });
  const { logReplay } = session;
  const clock = logReplay?.clock ?? Date.now;
  const open = armOpener(session);
  const inline = await createInlineArms({
    configured: session.arms.configured,
    open: (arm) => open(arm, { log: session.log.child({ arm: arm.name }), weightOf: tenantWeight(config.limits) }),
    guard: breakers.guard,
    metricsOf: (arm) => createStageMetrics(session.metrics, stageName("generate", arm), "inline"),
  });
  const policies = createPolicyTable(config.routing.statistics);
  const shadows = createShadowTable();
  const helpfulness = holdHelpfulness(session, { load: loadHelpfulnessModel, log });
  const policyMetrics = createPolicyMetrics(session.metrics);
  const seen = createSeenIds();
  const documentsFolder = join(config.stack.folder, "documents", instance);
  const documents = holdDocuments(session, await openDocuments(documentsFolder), log);

  let examples: HeldExamples | undefined;
  const { pool: poolMode } = config.selection;
  const placements = createPlacementTable(
    ({ mode }) => {
      if (poolMode === "auto") examples?.setMode(mode);
    },
    (problem) => log.error({ problem }, "the examples stay where they are"),
  );

  const reuse = createReuseTable(clock, (problem) => log.error({ policy: REUSE }, problem));
  const onReuse = createReuseMetrics(session.metrics);

  const budget = createByteBudgetTable(fixedSplit(config));
  const learnsByteBudget = config.memory.byteBudget === "learnt";
  let onSplit: (bytes: number) => void = () => undefined;

  const policyTable = followTable({
    kafka,
    codec,
    log,
    topic: session.topic("policies"),
    record: "policies",
    apply: (changes) => {
      for (const { key, value } of changes) {
        for (const table of [policies, shadows, placements, reuse, ...(learnsByteBudget ? [budget] : [])])
          if (value === null) table.remove(key);
          else table.apply(value);
      }
      helpfulness.apply(changes);
      onSplit(budget.current().responses);
      onReuse.domains(reuse.figures());
      const { policy, problem } = policies.current();
      policyMetrics.version(ROUTER, policy.version);
      policyMetrics.refused(ROUTER, problem !== null);
    },
  });
  await policyTable.caughtUp;
  const mode = (): PlacementMode => (poolMode === "auto" ? placements.current().mode : poolMode);
  const held = (examples = await holdExamples(session, { instance, stage: plan.name, mode: mode(), log }));
  held.setMode(mode()); // it may have changed meanwhile
  const { embedder, pool } = held;
  await held.restored();
  const sent = createSentResponses(session, log);
  const answers = config.cache.enabled
    ? await holdAnswers(session, { budgetBytes: budget.current().responses, sent: sent.find, log })
    : undefined;
  if (answers !== undefined) {
    onSplit = answers.resize;
    // Another may have come while what is kept was read.
    onSplit(budget.current().responses);
  }
  await documents.caughtUp;
  await atMost(helpfulnessMs, helpfulness.settled());
  log.info(
    { examples: pool.size(), embedder: embedder.model, policy: policies.current().policy.version },
    "tables restored",
  );

  // Not waited for: without it an example is only not preferred.
  const caches = followInventories(session, log);
  const { set: onRead } = createLoadMetrics(session.metrics, config.routing);
  const calls = shareCalls(session, { own: inline.calls, instance, log });
  const load = createLoadMonitor({ kafka, arms: () => monitoredArms(session, calls), now: clock, onRead, log });

  const replies = await followPartitionCount(kafka, { topic: session.topic("responses"), log });
  const deltas = await publishDeltas(session, log);
  const redact = redactsResponses(session, log);
  const pipeline = plan.bind({
    // A name may end in the next piece: of answers that are redacted there are no pieces.
    deltas: redact === undefined ? deltas.open : undefined,
    cancels: cancelsOf(session).watch,
    documents: documents.table,
    limits: config.limits,
    partitions: replies.now,
    inline: inline.of,
    fallback: fallbackOf(session, breakers),
    keep: keepAnswers(session, log),
    redact,
    arms: session.arms.routed,
    clock,
    seen,
    responseCache: answers?.lookup,
    firstResponses: createSharedResponses(redactsFirst(session, createFirstResponses(clickhouse, sent.find))),
    embedder,
    pool,
    selection: config.selection,
    whole: (domain, requestPartition) =>
      held.complete() ||
      placements.isWhole(domain, held.examplesPartition(requestPartition), held.position(requestPartition)),
    onSelection: createSelectionMetrics(session.metrics).count,
    helpfulnessModel: helpfulness.model,
    threshold: helpfulness.threshold,
    outcomes: helpfulness.outcomes,
    caches: caches.table,
    sharing: createSharedDomains(config.sharing),
    policy: policies.current,
    shadows: shadows.current,
    load: logReplay?.load ?? load.load,
    health: breakers,
    reuseBound: reuse.bound,
    onReuse: onReuse.decided,
    random: logReplay?.random ?? splitmix64(randomBytes(8).readBigUInt64LE()),
    routing: config.routing,
  });
  const requests = session.topic("requests");
  const stage = assembleStage(session, {
    pipeline,
    instance,
    async onAdopt(partitions) {
      const indexes = partitions.map(({ partition }) => partition);
      await held.adopt(indexes);
      await restoreSeenIds({ clickhouse, seen, clock, log }, requests, indexes);
    },
    onDropped: ({ partition }) => {
      seen.drop(partition);
      held.drop(partition);
    },
  });
  await stage.start();
  return {
    name: stage.name,
    health: stage.health,
    replaceArms: inline.replace,
    async stop() {
      await stage.stop();
      load.stop();
      replies.stop();
      await documents.stop();
      await Promise.all([inline.close(), calls.stop(), deltas.stop()]);
      await Promise.all([policyTable.stop(), held.stop(), helpfulness.stop(), caches.stop()]);
      await Promise.all([answers?.stop(), sent.stop()]);
    },
  };
}
