// What curate needs: the lock, ClickHouse, and, once there is a candidate, the embedder and the pool. Followers wait for the lock and hold nothing else.
import { createAdmit, type ExampleChange, type Shelf } from "../operators/admit/admit.ts";
import { createCandidates } from "../operators/admit/candidates.ts";
import { createRemember } from "../operators/admit/remember.ts";
import { createEvict } from "../operators/evict/evict.ts";
import { curate } from "../pipelines/curate.ts";
import { createStageMetrics } from "../runtime/metrics.ts";
import { repeat } from "../runtime/repeat.ts";
import { createSingleton, type Lease } from "../runtime/singleton.ts";
import type { OutgoingMessage } from "../connections/kafka/port.ts";
import { holdExamples, type HeldExamples } from "./examples.ts";
import type { Session } from "./session.ts";
import { groupName, type RunningStage } from "./stage.ts";

const dayMs = 86_400_000;
const candidatesAtOnce = 200;
/** How long a reward may wait for its response to be recorded. */
const overlapMs = dayMs;

/** A changed example as it goes to the topic; without value a tombstone. */
export function exampleMessage({ codec, topic }: Session, { id, domain, value }: ExampleChange): OutgoingMessage {
  return {
    topic: topic("examples"),
    key: `${domain}/${id}`,
    value: value === null ? null : codec.encode("examples", value),
  };
}

export async function startCurate(session: Session, instance: string): Promise<RunningStage> {
  const { config, kafka, clickhouse, topic } = session;
  const { prefix, sessionTimeoutMs } = config.kafka;
  const { admit, evict, everyMs, personalData } = config.curate;
  const log = session.log.child({ stage: curate.name });
  const metrics = createStageMetrics(session.metrics, curate.name);
  const clock = Date.now;

  const task = async (lease: Lease): Promise<void> => {
    let held: Promise<HeldExamples> | undefined;
    const shelf = async (): Promise<Shelf> => {
      held ??= holdExamples(session, log).catch((error: unknown) => {
        held = undefined; // the next pass tries again
        throw error;
      });
      const examples = await held;
      await examples.caughtUp;
      return examples;
    };
    let isWriter = false;
    const publish = async (changes: readonly ExampleChange[]): Promise<void> => {
      if (!isWriter) await lease.initialise();
      isWriter = false;
      await lease.publish(changes.map((change) => exampleMessage(session, change)));
      isWriter = true;
      if (held === undefined) return;
      const { pool } = await held;
      // The topic brings them too, but the next pass must know them already.
      for (const { id, value } of changes) {
        if (value === null) await pool.remove([id]);
        else await pool.upsert([value]);
      }
    };
    const pass = curate.bind({
      candidates: createCandidates({
        clickhouse,
        observations: topic("observations"),
        limit: candidatesAtOnce,
        overlapMs,
      }),
      admit: createAdmit({
        shelf,
        rules: { ...admit, ttlMs: admit.ttlDays === 0 ? null : admit.ttlDays * dayMs },
        personalData,
        clock,
      }),
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
          const { decided, evicted, more } = await pass();
          metrics.received(decided.length);
          for (const { reason } of decided) if (reason !== null) metrics.dropped(reason);
          const changed = decided.reduce((sum, { changes }) => sum + changes.length, 0) + evicted.length;
          if (changed > 0) metrics.sent("examples", changed);
          const admitted = decided.filter(({ outcome }) => outcome === "admitted" || outcome === "replaced").length;
          if (admitted + evicted.length > 0) log.info({ admitted, evicted: evicted.length }, "examples changed");
          return more;
        },
        { everyMs, signal: lease.signal, log },
      );
    } finally {
      await (await held?.catch(() => undefined))?.stop();
    }
  };

  const group = groupName(prefix, curate.name);
  const singleton = createSingleton({
    group,
    topic: topic("locks"),
    instance,
    sessionTimeoutMs,
    transactionalId: `${group}.writer`,
    kafka,
    task,
    log,
  });
  await singleton.start();
  return { name: curate.name, health: singleton.health, stop: singleton.stop };
}
