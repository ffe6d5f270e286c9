// What curate needs: the lock, ClickHouse, the policy `placement` and, once there is a candidate,
// the embedder and the pool. Followers wait for the lock and hold nothing else.
import { createSharedDomains } from "../../algorithms/selection/shared-domains.ts";
import { createAdmit, type ExampleStore } from "../../operators/admit/admit.ts";
import { createDecide } from "../../operators/admit/decide.ts";
import { createCandidates } from "../../operators/admit/candidates.ts";
import { candidatesWhenChanged, candidateTables } from "../../operators/admit/when-changed.ts";
import { createProbe } from "../../operators/admit/probe.ts";
import { createRemember } from "../../operators/admit/remember.ts";
import { createSolver } from "../../connections/solver/solver.ts";
import { createEvict } from "../../operators/evict/evict.ts";
import { createCurateReport } from "../../operators/pass-reports.ts";
import { createPlace, type PlaceRules } from "../../operators/place/place.ts";
import { PLACEMENT } from "../../state/policies/placement.ts";
import { createErasedAmong } from "../../operators/erased.ts";
import { createPublishChanges } from "../../operators/publish-changes.ts";
import { createSeen } from "../../operators/place/seen.ts";
import { createRowCounts } from "../../operators/row-counts.ts";
import { createPolicyLog } from "../../state/policies/log.ts";
import { curate } from "./pipeline.ts";
import { record } from "../record/pipeline.ts";
import type { Sent } from "../../runtime/declaration.ts";
import { createStageMetrics } from "../../runtime/metrics/stage.ts";
import { watchPasses } from "../../runtime/pass-health.ts";
import { keptWriter } from "../../runtime/kept-writer.ts";
import { lazily } from "../../runtime/lazily.ts";
import { repeat } from "../../runtime/repeat.ts";
import { createSingleton, type Lease } from "../../runtime/singleton.ts";
import { exampleMessages } from "./example-messages.ts";
import { holdExamples } from "../examples.ts";
import { BYTE_BUDGET, createByteBudgetTable } from "../../state/policies/byte-budget.ts";
import { fixedSplit } from "../../config/sections/memory.ts";
import { highestPolicyVersion, policyHistory } from "../../state/policies/history.ts";
import { redactsCandidates } from "../redact.ts";
import type { SessionOf } from "../../state/session.ts";
import type { Session } from "../session.ts";
import { groupName, type RunningStage } from "../../runtime/running-stage.ts";

const dayMs = 86_400_000;
const candidatesAtOnce = 200;
/** Longest search for a better choice of what leaves, once the greedy one is made. */
const solveMs = 2_000;
/** How long a reward may wait for its response to be recorded. */
const overlapMs = dayMs;

/**
 * Pairs of domain and partition are looked for in decisions so far back at the start, and then a
 * little before the newest.
 */
const seenWithin = { lookBackMs: dayMs, overlapMs: 600_000 };

export async function startCurate(session: SessionOf<typeof curate>, instance: string): Promise<RunningStage> {
  const { config, kafka, codec, clickhouse, text, topic } = session;
  const { prefix, sessionTimeoutMs } = config.kafka;
  const { admit, evict, everyMs } = config.curate;
  const log = session.log.child({ stage: curate.name });
  const metrics = createStageMetrics(session.metrics, curate.name);
  const clock = Date.now;
  const group = groupName(prefix, curate.name);

  const sharing = createSharedDomains(config.sharing);

  const passes = watchPasses(config.health);

  const task = async (lease: Lease<Sent<typeof curate>>): Promise<void> => {
    const held = lazily(() => holdExamples(session, { instance, stage: curate.name, mode: "global", log }));
    const examples = async (): Promise<ExampleStore> => {
      const store = await held.get();
      await store.restored();
      return store;
    };
    const writer = keptWriter(lease);
    const policies = createPolicyLog({
      // The lease fences: nobody else writes the placement.
      producer: writer,
      kafka,
      codec,
      topic: topic("policies"),
      name: PLACEMENT,
      highestRecorded: (name) => highestPolicyVersion(clickhouse, name),
      log,
    });
    const place = createPlace({
      clickhouse,
      kafka,
      topic: topic("examples"),
      groups: { own: group, record: groupName(prefix, record.name) },
      seen: createSeen({ clickhouse, decisions: topic("decisions"), ...seenWithin, clock, sharing }),
      encode: (example) => codec.encode("examples", example),
      policies,
      publish: writer.publish,
      rules: { ...placeRules(config), countEveryMs: evict.everyMs },
      clock,
      signal: lease.signal,
      log,
    });
    const admitting = createAdmit({
      examples,
      rules: { ...admit, ttlMs: admit.ttlDays === 0 ? null : admit.ttlDays * dayMs },
      redact: redactsCandidates(session),
      sharing,
      clock,
    });
    const pass = curate.bind({
      place: place.pass,
      candidates: candidatesWhenChanged({
        candidates: createCandidates({
          clickhouse,
          observations: topic("observations"),
          limit: candidatesAtOnce,
          overlapMs,
        }),
        counts: createRowCounts(clickhouse, candidateTables, { rewards: "version" }),
        clock,
      }),
      decide: createDecide({
        admit: admitting,
        works: createProbe({ examples, text, clock }),
        signal: lease.signal,
        log,
      }),
      evict: createEvict({
        clickhouse,
        solver: createSolver({ limitMs: solveMs, log }),
        rules: {
          budgetBytes: async () => (await splitOf(session)).examples,
          graceMs: evict.graceHours * 3_600_000,
          offloadQuality: evict.offloadQuality,
        },
        costs: () => new Map(session.arms.routed().map(({ name, cost }) => [name, cost])),
        clock,
        log,
      }),
      publish: createPublishChanges({
        writer,
        // What is written beside it is the mirror's; what leaves shall be shown nowhere from now
        // on.
        messages: (changes) => exampleMessages(session, changes, place.placesOf),
        pool: () => held.opened()?.then(({ pool }) => pool),
        erasedAmong: createErasedAmong({ clickhouse, clock }),
      }),
      remember: createRemember({ clickhouse, clock }),
      evictEveryMs: evict.everyMs,
      observe: metrics.observe,
      signal: lease.signal,
    });
    const report = createCurateReport({ metrics, log });
    try {
      const timing = { everyMs, signal: lease.signal, log, health: passes.of("examples") };
      await repeat(async () => report(await pass()), timing);
    } finally {
      passes.clear();
      await Promise.all([
        place.stop(),
        policies.close(),
        held.opened()?.then(
          (examples) => examples.stop(),
          () => undefined,
        ),
      ]);
    }
  };

  const singleton = createSingleton({
    group,
    topic: topic("locks"),
    instance,
    sessionTimeoutMs,
    transactionalId: `${group}.writer`,
    outputs: [topic("examples"), topic("policies")],
    kafka,
    task,
    log,
  });
  await singleton.start();
  return { name: curate.name, health: () => ({ ...singleton.health(), ...passes.report() }), stop: singleton.stop };
}

/** As it is recorded: the examples are weighed by what is recorded, too. */
async function splitOf({ config, clickhouse }: Pick<SessionOf<typeof curate>, "config" | "clickhouse">) {
  const fixed = fixedSplit(config);
  if (config.memory.byteBudget === "fixed") return fixed;
  const table = createByteBudgetTable(fixed);
  for (const version of await policyHistory(clickhouse, BYTE_BUDGET, { limit: 1 })) table.apply(version);
  return table.current();
}

const placeRules = ({ selection: { pool, shareAbove } }: Session["config"]): Omit<PlaceRules, "countEveryMs"> => ({
  pool,
  shareAbove,
});
