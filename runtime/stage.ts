// Runs one exactly-once stage: consume, work outside any transaction, commit outputs and positions together. Records finish in
// any order; a slow one holds nobody back. Delivery guarantee: each record's outputs are visible exactly once to read-committed
// readers, under crashes, zombies, rebalances and broker restarts (docs/design/delivery.md).
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { backoff } from "../algorithms/backoff.ts";
import { isFencing } from "../connections/kafka/errors.ts";
import type { HangingSearch, Kafka, OutgoingMessage, RawRecord, TopicPartition } from "../connections/kafka/port.ts";
import { sameOrigin } from "../algorithms/origin.ts";
import { createAdoption } from "./adoption.ts";
import { createCommitter } from "./committer.ts";
import { createDoubts } from "./doubts.ts";
import { watchHanging, type HangingWatch } from "./hanging-watch.ts";
import type { StageMetrics } from "./metrics.ts";
import { windowOffsets } from "./finished-offsets.ts";
import { progressOf, reportOf, watchProgress, type ProgressLimits } from "./progress.ts";
import { deliver, forget, type PartitionState, type TaskEntry } from "./partition.ts";
import { createPlaces, type PlaceLimits, type Turn } from "./places.ts";
import { visibleRivals, waitForRivals, type RivalOptions } from "./rivals.ts";
import type { Place, Position } from "./step.ts";

/** The work on one record: its outputs. Rejects only when the signal is aborted; everything else ends in outputs. */
export type Process = (
  record: RawRecord,
  position: Position,
  signal: AbortSignal,
  place?: Place,
) => Promise<OutgoingMessage[]>;

export interface StageOptions {
  name: string;
  group: string;
  topics: readonly string[];
  transactionalId: string;
  instance: string;
  /** Full names of the topics that it writes to, in this life or a former one. */
  outputs?: () => readonly string[];
  sessionTimeoutMs: number;
  limits: PlaceLimits & { drainMs: number };
  /** Whose a record is (its tenant): places are shared between flows by weight. Absent: first come, first served. */
  flowOf?: (record: RawRecord) => string;
  /** 1 by default. */
  weightOf?: (flow: string) => number;
  /** Absent: nobody watches whether it gets on. */
  health?: ProgressLimits;
  kafka: Kafka;
  process: Process;
  /** Outputs for a record whose own the broker refuses for good. */
  rejected: (record: RawRecord, position: Position, cause: unknown, again: boolean) => Promise<OutgoingMessage[]>;
  /** State to restore before a record of newly assigned partitions is taken. */
  onAdopt?: (partitions: readonly TopicPartition[]) => Promise<void>;
  /** A partition was lost, or went away again while onAdopt was under way: what was restored for it may go. */
  onDropped?: (partition: TopicPartition) => void;
  metrics: StageMetrics;
  log: Logger;
}

export interface StageHealth {
  joined: boolean;
  partitions: number;
  inFlight: number;
  /** Milliseconds of its longest stall so far (progress.ts); absent: none. */
  stalledMs?: number;
  /** What keeps it from working, since when, and what to do about it; absent: nothing. */
  problems?: readonly string[];
  /** How often a partition could not go on where it was: its log lost its end, or is another topic's (the log says more). */
  resets?: number;
  /** Why it has stopped by itself. */
  failure?: string;
}

export interface Stage {
  readonly name: string;
  /** Resolves when the group was joined; waits for the broker as long as it takes. */
  start(): Promise<void>;
  /** Stops fetching, finishes what is under way within limits.drainMs, commits, leaves the group. */
  stop(): Promise<void>;
  health(): StageHealth;
}

/**
 * A partition is paused while this much of it waits in memory. Between flows as much as the window takes: a flow can only pass what was
 * fetched, so whoever floods a partition must not fill what waits of it.
 */
const waitingLimit = { records: 256, recordsOfFlows: windowOffsets, bytes: 8 * 1024 * 1024 };

/** How soon an idle stage's lag drops to 0 after control markers. */
const settleMs = 1_000;

/** How soon it is noticed that a topic was made anew under a stage whose offsets it has, too. */
const compareMs = 5_000;

export function createStage(options: StageOptions): Stage {
  const { name, group, limits, kafka, process, metrics, log } = options;
  const consumer = kafka.groupConsumer(options);
  const outputs = (): readonly string[] => options.outputs?.() ?? [];
  const producer = kafka.transactionalProducer(options.transactionalId, () => ({ groups: [group], topics: outputs() }));
  let hanging: HangingWatch | undefined;
  const places = createPlaces(options);
  const waitingRecords = options.flowOf === undefined ? waitingLimit.records : waitingLimit.recordsOfFlows;
  let joined = false;
  let stopping = false;
  let settling: NodeJS.Timeout | undefined;
  let comparing: NodeJS.Timeout | undefined;
  let resets = 0;

  const rivalry: RivalOptions = { consumer, group, instance: options.instance, log, stopped: () => stopping };
  let failure: string | undefined;

  /** Another living process has our instance id and our producer: fighting for it would ask every model again and again. */
  function fail(rival: string): void {
    failure = `instance "${options.instance}" is running in ${group} as ${rival}, too: this stage has stopped; give each process an id of its own`;
    log.error({ group, instance: options.instance, rival }, failure);
    stopping = true;
    clearInterval(settling);
    clearInterval(comparing);
    hanging?.stop();
    progress?.stop();
    committer.stop();
    adoption.stop();
    Promise.all([consumer.stop(), producer.close()]).catch((error: unknown) =>
      log.debug({ err: error }, "leaving the group failed"),
    );
  }

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
      places.drop(state);
      for (const entry of state.window.entries()) release(entry);
      metrics.forgetLag(state.topic, state.partition);
      options.onDropped?.(state);
    },
    onForsaken: (partition) => options.onDropped?.(partition),
    onReady() {
      schedule();
      committer.kick();
    },
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
    onCommitted(_state, entries) {
      for (const entry of entries) {
        release(entry);
        forget(entry.item);
      }
      schedule();
    },
    async onUnknown(attempts, cause) {
      if (!stopping && isFencing(cause)) {
        const [rival] = await visibleRivals(rivalry);
        if (rival !== undefined) fail(rival);
      }
      // Whoever comes next finds out; there is no time left for it.
      if (stopping) adoption.stop();
      else await initialise();
      return adoption.reconcile(attempts);
    },
  });

  const positionOf = (state: PartitionState, entry: TaskEntry): Position => ({
    topic: state.topic,
    partition: state.partition,
    offset: entry.offset,
  });

  function release(entry: TaskEntry): void {
    places.release(entry.item);
    metrics.inFlight(places.inFlight());
  }

  /** Starts what waits, in fair turns, within the limits; keeps each partition's queue short. */
  function schedule(): void {
    for (let turn: Turn | undefined; !stopping && (turn = places.next()) !== undefined;) begin(turn);
    for (const state of adoption.states()) regulate(state);
  }

  function regulate(state: PartitionState): void {
    const { bytes } = waitingLimit;
    const full =
      stopping ||
      state.waiting >= waitingRecords ||
      state.waitingBytes >= bytes ||
      !state.window.admits(state.window.next());
    const low = state.waiting < waitingRecords / 2 && state.waitingBytes < bytes / 2;
    if (full && !state.paused) {
      state.paused = true;
      consumer.pause([state]);
    } else if (!full && low && state.paused) {
      state.paused = false;
      consumer.resume([state]);
    }
  }

  function begin({ state, entry }: Turn): void {
    const task = entry.item;
    metrics.inFlight(places.inFlight());
    if (entry.state === "running") {
      task.onPlace?.();
      return;
    }
    entry.state = "running";
    state.waiting--;
    state.waitingBytes -= task.bytes;
    const ready = state.results.get(entry.offset);
    state.results.delete(entry.offset);
    const work =
      ready === undefined
        ? process(task.record, positionOf(state, entry), task.controller.signal, placeOf(state, entry))
        : Promise.resolve(ready);
    work.then(
      (messages) => {
        if (state.dropped) return;
        task.messages = messages;
        entry.state = "done";
        committer.kick();
      },
      (error: unknown) => {
        if (!state.dropped) log.error({ err: error, ...positionOf(state, entry) }, "a record was left unfinished");
      },
    );
  }

  const placeOf = (state: PartitionState, entry: TaskEntry): Place => ({
    leave() {
      const left = places.park(entry.item);
      if (left) setImmediate(schedule);
      return left;
    },
    take: () =>
      new Promise((resolve) => {
        if (entry.item.place !== "parked") {
          resolve();
          return;
        }
        entry.item.onPlace = resolve;
        places.wait({ state, entry });
        schedule();
      }),
  });

  /**
   * The broker does not have what we ask for next: a batch from ahead of us (a leftover of a former position), retention that has removed what lies
   * between, a log that has lost its end, or a topic that was made anew.
   */
  async function closeGap(state: PartitionState, from?: number): Promise<void> {
    const at = { topic: state.topic, partition: state.partition };
    const doubts = createDoubts(Date.now);
    consumer.pause([state]);
    const waits = backoff({ first: 50, limit: 1_000 });
    while (!state.dropped && !stopping) {
      try {
        const [{ beginning, end, current } = { beginning: 0, end: 0, current: state.origin }] =
          await consumer.committed([at]);
        if (state.dropped) return;
        const next = state.window.next();
        if (!sameOrigin(state.origin, current)) return adoption.readAgain([state], "the topic was made anew");
        if (end < next) {
          if (doubts.isSettled("end")) return adoption.readAgain([state], "the log has lost its end");
          await sleep(waits.next());
          continue;
        }
        if (beginning > next) {
          log.warn({ ...at, next, beginning }, "retention removed records before they were taken");
          metrics.reset("retention");
          state.window.advanceTo(beginning);
        } else log.debug({ ...at, next: state.window.next(), from }, "a batch from ahead is left out and read again");
        consumer.seek(at, state.window.next());
        state.paused = false;
        consumer.resume([state]);
        schedule();
        return;
      } catch (error) {
        log.debug({ err: error, ...at }, "the beginning of a partition is not to be had yet");
        await sleep(waits.next());
      }
    }
  }

  const progress =
    options.health &&
    watchProgress({
      ...options.health,
      assigned: adoption.assigned,
      progress(topic, partition) {
        const state = adoption.state(topic, partition);
        return state && progressOf(state);
      },
      ends: kafka.ends,
      log,
    });

  const problemsNow = (): Pick<StageHealth, "stalledMs" | "problems"> => {
    const { problems: stalls = [], ...stall } = progress === undefined ? {} : reportOf(progress);
    const problems = [...(failure === undefined ? [] : [failure]), ...(hanging?.problems() ?? []), ...stalls];
    return { ...stall, ...(problems.length > 0 ? { problems } : {}) };
  };

  async function initialise(): Promise<void> {
    const waits = backoff({ first: 100, limit: 5_000 });
    for (;;) {
      try {
        await producer.initialise();
        return;
      } catch (error) {
        log.warn({ err: error }, "can't initialise the producer, trying again");
        await sleep(waits.next());
        if (stopping) throw error;
      }
    }
  }

  return {
    name,
    async start() {
      await waitForRivals(rivalry, 1.5 * options.sessionTimeoutMs + 5_000);
      // Before joining: ends a predecessor's open transaction, which would stall its readers and our adoption.
      await initialise();
      settling = setInterval(committer.settle, settleMs);
      const search = (): HangingSearch => ({
        groups: [group],
        topics: [...options.topics, ...outputs()],
        idPrefix: group,
      });
      hanging = watchHanging({ kafka, search, log });
      comparing = setInterval(() => {
        adoption.compareOrigins().catch((error: unknown) => log.debug({ err: error }, "topics can't be compared now"));
      }, compareMs);
      await consumer.run({
        onJoin(member, partitions) {
          joined = true;
          log.info({ generation: member.generation, partitions: partitions.length }, "joined the group");
          adoption.join(member, partitions);
        },
        onBatch(topic, partition, records, { from, next }) {
          const state = adoption.state(topic, partition);
          if (state === undefined) return;
          if (from > state.window.next()) {
            void closeGap(state, from);
            return;
          }
          metrics.received(deliver(state, records, next, (entry) => places.wait({ state, entry })));
          schedule();
        },
        onOutOfRange(topic, partition) {
          const state = adoption.state(topic, partition);
          if (state !== undefined) void closeGap(state);
        },
        onMarkers(topic, partition, first, next) {
          const state = adoption.state(topic, partition);
          if (state !== undefined && first <= state.window.next()) state.window.advanceTo(next);
        },
        onLag(topic, partition, records) {
          const state = adoption.state(topic, partition);
          if (state !== undefined) metrics.lag(topic, partition, records + state.waiting);
        },
      });
    },
    async stop() {
      stopping = true;
      clearInterval(settling);
      hanging?.stop();
      progress?.stop();
      clearInterval(comparing);
      schedule();
      consumer.pause(adoption.assigned());
      const end = Date.now() + limits.drainMs;
      // What is under way gets most of the time, saying goodbye the rest; a broker that is away may get nothing of it done.
      const leaveMs = Math.min(3_000, limits.drainMs / 4);
      while (places.inFlight() > 0 && Date.now() < end - leaveMs) await sleep(20);
      committer.stop();
      await Promise.race([committer.idle(), sleep(Math.max(0, end - Date.now()))]);
      adoption.stop();
      await Promise.all([consumer.stop(), producer.close()]);
    },
    health: () => ({
      ...{
        joined: joined && failure === undefined,
        partitions: [...adoption.states()].length,
        inFlight: places.inFlight(),
      },
      ...(resets === 0 ? {} : { resets }),
      ...(failure === undefined ? {} : { failure }),
      ...problemsNow(),
    }),
  };
}
