// What curate needs: the lock, ClickHouse, the policy `placement` and, once there is a candidate, the embedder and the pool. Followers wait for the lock and hold nothing else.
import { createAdmit, type Shelf } from "../operators/admit/admit.ts";
import type { ExampleChange } from "../operators/example-change.ts";
import { createDecide } from "../operators/admit/decide.ts";
import { createCandidates } from "../operators/admit/candidates.ts";
import { createRemember } from "../operators/admit/remember.ts";
import { createEvict } from "../operators/evict/evict.ts";
import { createPlace, type PlaceRules } from "../operators/place/place.ts";
import { PLACEMENT } from "../policies/placement.ts";
import { createSeen } from "../operators/place/seen.ts";
import { createPolicyLog } from "../policies/log.ts";
import { curate } from "../pipelines/curate.ts";
import { record } from "../pipelines/record.ts";
import type { Sent } from "../runtime/declaration.ts";
import { createStageMetrics } from "../metrics/stage.ts";
import { watchPasses } from "../runtime/pass-health.ts";
import { repeat } from "../runtime/repeat.ts";
import { createSingleton, type FencedProducer, type Lease } from "../runtime/singleton.ts";
import { exampleMessages } from "./example-messages.ts";
import { holdExamples, type HeldExamples } from "./examples.ts";
import { highestPolicyVersion } from "../policies/history.ts";
import type { Session, SessionOf } from "./session.ts";
import { groupName, type RunningStage } from "./stage.ts";

const dayMs = 86_400_000;
const candidatesAtOnce = 200;
/** How long a reward may wait for its response to be recorded. */
const overlapMs = dayMs;

/** Pairs of domain and partition are looked for in decisions so far back at the start, and then a little before the newest. */
const seenWithin = { lookBackMs: dayMs, overlapMs: 600_000 };

export async function startCurate(session: SessionOf<typeof curate>, instance: string): Promise<RunningStage> {
  const { config, kafka, codec, clickhouse, text, topic } = session;
  const { prefix, sessionTimeoutMs } = config.kafka;
  const { admit, evict, everyMs, personalData } = config.curate;
  const log = session.log.child({ stage: curate.name });
  const metrics = createStageMetrics(session.metrics, curate.name);
  const clock = Date.now;
  const group = groupName(prefix, curate.name);

  const passes = watchPasses(config.health);

  const task = async (lease: Lease<Sent<typeof curate>>): Promise<void> => {
    let held: Promise<HeldExamples> | undefined;
    const shelf = async (): Promise<Shelf> => {
      held ??= holdExamples(session, { instance, stage: curate.name, mode: "global", log }).catch((error: unknown) => {
        held = undefined; // the next pass tries again
        throw error;
      });
      const examples = await held;
      await examples.restored();
      return examples;
    };
    const writer = keptWriter(lease);
    const publish = async (changes: readonly ExampleChange[]): Promise<void> => {
      // What is written beside it is the mirror's; what leaves shall be shown nowhere from now on.
      await writer.publish(await exampleMessages(session, changes, place.placesOf));
      if (held === undefined) return;
      const { pool } = await held;
      // The topic brings them too, but the next pass must know them already.
      for (const { id, value } of changes) {
        if (value === null) await pool.remove([id]);
        else await pool.upsert([value]);
      }
    };
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
      seen: createSeen({ clickhouse, decisions: topic("decisions"), ...seenWithin, clock }),
      encode: (example) => codec.encode("examples", example),
      policies,
      publish: writer.publish,
      rules: { ...placeRules(config), countEveryMs: evict.everyMs },
      clock,
      signal: lease.signal,
      log,
    });
    const admitting = createAdmit({
      shelf,
      rules: { ...admit, ttlMs: admit.ttlDays === 0 ? null : admit.ttlDays * dayMs },
      text,
      personalData,
      clock,
    });
    // A text that nobody asked about before, so that no cache answers; the pool and the text worker are asked as well.
    let asked = 0;
    const works = async (): Promise<boolean> => {
      try {
        const { embedder, pool } = await shelf();
        await text.check();
        await pool.nearest(
          "precedent/probe",
          await embedder.embed(`Does deciding work? ${clock()} ${asked++}`),
          1,
          clock(),
        );
        return true;
      } catch {
        return false;
      }
    };
    const pass = curate.bind({
      place: place.pass,
      candidates: createCandidates({
        clickhouse,
        observations: topic("observations"),
        limit: candidatesAtOnce,
        overlapMs,
      }),
      decide: createDecide({ admit: admitting, works, signal: lease.signal, log }),
      evict: createEvict({
        clickhouse,
        rules: { ...evict, graceMs: evict.graceHours * 3_600_000 },
        costs: () => new Map(session.arms.routed().map(({ name, cost }) => [name, cost])),
        clock,
      }),
      publish,
      remember: createRemember({ clickhouse, clock }),
      evictEveryMs: evict.everyMs,
      now: () => performance.now(),
      observe: metrics.observe,
      signal: lease.signal,
    });
    try {
      await repeat(
        async () => {
          const { decided, evicted, placed, more } = await pass();
          metrics.received(decided.length);
          for (const { reason } of decided) if (reason !== null) metrics.dropped(reason);
          const changed = decided.reduce((sum, { changes }) => sum + changes.length, 0) + evicted.length;
          if (changed > 0) metrics.sent("examples", changed);
          if (placed.copied > 0) metrics.sent("examples", placed.copied);
          if (placed.placed > 0) log.info({ ...placed }, "domains are whole on more partitions");
          const admitted = decided.filter(({ outcome }) => outcome === "admitted" || outcome === "replaced").length;
          if (admitted + evicted.length > 0) log.info({ admitted, evicted: evicted.length }, "examples changed");
          return more;
        },
        { everyMs, signal: lease.signal, log, health: passes.of("examples") },
      );
    } finally {
      passes.clear();
      await Promise.all([
        place.stop(),
        policies.close(),
        held?.then(
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

const placeRules = ({ selection: { pool, shareAbove } }: Session["config"]): Omit<PlaceRules, "countEveryMs"> => ({
  pool,
  shareAbove,
});

/** Initialised when it is needed: before the first publication, and after every one that failed. */
function keptWriter<T extends string>(lease: Lease<T>): FencedProducer<T> {
  let isWriter = false;
  const initialise = async (): Promise<void> => {
    isWriter = false;
    await lease.initialise();
    isWriter = true;
  };
  return {
    initialise,
    async publish(messages, read) {
      if (!isWriter) await initialise();
      isWriter = false;
      await lease.publish(messages, read);
      isWriter = true;
    },
  };
}
