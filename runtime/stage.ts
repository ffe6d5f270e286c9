// Runs one exactly-once stage: consume, work outside any transaction, commit outputs and positions
// together. Records finish in any order; a slow one delays no other record. Delivery guarantee:
// each record's outputs are visible exactly once to read-committed readers, under crashes, zombies,
// rebalances and broker restarts (docs/design/delivery.md).
//   adoption.ts        whose partitions are ours, and from where
//   stage-handlers.ts  what the consumer delivers
//   schedule.ts        which records are under way
//   committer.ts       what has finished
//   gap.ts             offsets that the broker lacks
//   stage-health.ts    what is looked at again and again
import { setTimeout as sleep } from "node:timers/promises";
import { isFencing } from "../connections/kafka/errors.ts";
import { createAdoption } from "./adoption.ts";
import { createCommitter } from "./committer.ts";
import { createGapCloser } from "./gap.ts";
import { initialised } from "./initialised.ts";
import { createLag } from "./lag.ts";
import { forget } from "./partition.ts";
import { visibleRivals, waitForRivals, type RivalOptions } from "./rivals.ts";
import { createSchedule, positionOf } from "./schedule.ts";
import { stageHandlers } from "./stage-handlers.ts";
import { watchStage, type StageHealth } from "./stage-health.ts";
import type { StageOptions } from "./stage-options.ts";

/** Reason in the metric of what was dropped: not even a dead letter of it could be sent. */
const withheld = "withheld";

export type Stage = ReturnType<typeof createStage>;

export function createStage(options: StageOptions) {
  const { name, group, limits, kafka, metrics, tracing, log } = options;
  const consumer = kafka.groupConsumer(options);
  const outputs = (): readonly string[] => options.outputs?.() ?? [];
  const producer = kafka.transactionalProducer(options.transactionalId, () => ({ groups: [group], topics: outputs() }));
  let joined = false;
  let stopping = false;
  let resets = 0;
  let failure: string | undefined;
  const stopped = (): boolean => stopping;
  const rivalry: RivalOptions = { consumer, group, instance: options.instance, log, stopped };

  const adoption = createAdoption({
    consumer,
    log,
    onAdopt: options.onAdopt ?? (() => Promise.resolve()),
    onReset(_partition, surprise) {
      resets++;
      metrics.reset(surprise);
    },
    keepResults: options.onAdopt === undefined,
    onDropped(state) {
      schedule.drop(state);
      tracing?.dropped(state);
      options.onDropped?.(state);
    },
    onAbandoned: (partition) => options.onDropped?.(partition),
    onReady() {
      schedule.run();
      committer.kick();
    },
  });

  const schedule = createSchedule({
    ...options,
    ...{ consumer, stopped, states: adoption.states },
    onDone: () => committer.kick(),
  });

  const committer = createCommitter({
    producer,
    group,
    log,
    partitions: adoption.states,
    member: adoption.member,
    onFenced: adoption.forget,
    rejected: (entry, state, cause, again) =>
      options.rejected(entry.item.record, positionOf(state, entry), cause, again),
    onWithheld: () => metrics.dropped(withheld),
    onCommitted(state, entries) {
      for (const entry of entries) {
        tracing?.committed(positionOf(state, entry));
        schedule.release(entry);
        forget(entry.item);
      }
      schedule.run();
    },
    async onUnknown(attempts, cause) {
      if (!stopping && isFencing(cause)) {
        const [rival] = await visibleRivals(rivalry);
        if (rival !== undefined) fail(rival);
      }
      // The next owner finds out; there is no time left for it.
      if (stopping) adoption.stop();
      else await initialised({ producer, stopped, log });
      return adoption.reconcile(attempts);
    },
  });

  const { assigned } = adoption;
  const lag = createLag({ assigned, committed: (topic, partition) => adoption.state(topic, partition)?.committed });
  const search = () => ({ groups: [group], topics: [...options.topics, ...outputs()], idPrefix: group });
  const watch = watchStage({ kafka, adoption, committer, lag, search, limits: options.health, log });

  /** Another living process has our instance id and producer. */
  function fail(rival: string): void {
    failure = `instance "${options.instance}" is running in ${group} as ${rival}, too: this stage has stopped; give each process an id of its own`;
    log.error({ group, instance: options.instance, rival }, failure);
    stopping = true;
    watch.stop();
    committer.stop();
    adoption.stop();
    Promise.all([consumer.stop(), producer.close()]).catch((error: unknown) =>
      log.debug({ err: error }, "leaving the group failed"),
    );
  }

  return {
    name,
    /** Resolves when the group was joined; waits for the broker as long as it takes. */
    async start(): Promise<void> {
      await waitForRivals(rivalry, 1.5 * options.sessionTimeoutMs + 5_000);
      // Before joining: ends a predecessor's open transaction, which would stall its readers and
      // our adoption.
      await initialised({ producer, stopped, log });
      watch.start();
      metrics.lag(lag.now);
      const { readAgain } = adoption;
      const onLost = (): void => metrics.reset("retention");
      const closeGap = createGapCloser({ consumer, readAgain, stopped, onLost, onClosed: schedule.run, log });
      const onJoined = (): void => void (joined = true);
      await consumer.run(stageHandlers({ adoption, schedule, closeGap, onJoined, lag, log }));
    },
    /** Finishes within limits.drainMs, commits, leaves the group. */
    async stop(): Promise<void> {
      stopping = true;
      watch.stop();
      schedule.run();
      consumer.pause(adoption.assigned());
      const end = Date.now() + limits.drainMs;
      // What is under way gets most of the time, saying goodbye the rest; a broker that is away may
      // get nothing of it done.
      const leaveMs = Math.min(3_000, limits.drainMs / 4);
      while (schedule.inFlight() > 0 && Date.now() < end - leaveMs) await sleep(20);
      committer.stop();
      await Promise.race([committer.idle(), sleep(Math.max(0, end - Date.now()))]);
      adoption.stop();
      metrics.lag(() => []);
      await Promise.all([consumer.stop(), producer.close()]);
    },
    health: (): StageHealth => ({
      ...{
        joined: joined && failure === undefined,
        partitions: [...adoption.states()].length,
        inFlight: schedule.inFlight(),
      },
      ...(resets === 0 ? {} : { resets }),
      ...watch.report(failure),
    }),
  };
}
