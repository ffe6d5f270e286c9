// Runs one exactly-once stage: consume, work outside any transaction, commit outputs and positions together. Records finish in
// any order; a slow one holds nobody back. Delivery guarantee: each record's outputs are visible exactly once to read-committed
// readers, under crashes, zombies, rebalances and broker restarts (spec 05).
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { HangingSearch, Kafka, OutgoingMessage, RawRecord, TopicPartition } from "../connections/kafka/port.ts";
import { createAdoption } from "./adoption.ts";
import { createCommitter } from "./committer.ts";
import { watchHanging, type HangingWatch } from "./hanging-watch.ts";
import type { StageMetrics } from "./metrics.ts";
import { windowOffsets } from "./finished-offsets.ts";
import { progressOf, reportOf, watchProgress, type ProgressLimits } from "./progress.ts";
import { deliver, forget, type PartitionState, type TaskEntry } from "./partition.ts";
import { createPlaces, type PlaceLimits, type Turn } from "./places.ts";
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

  const adoption = createAdoption({
    consumer,
    log,
    onAdopt: options.onAdopt ?? (() => Promise.resolve()),
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
    async onUnknown(attempts) {
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

  /** A batch from ahead of us: a leftover of a former position, or retention has removed what lies between. */
  async function closeGap(state: PartitionState, from: number): Promise<void> {
    const at = { topic: state.topic, partition: state.partition };
    consumer.pause([state]);
    for (let wait = 50; !state.dropped && !stopping; wait = Math.min(2 * wait, 1_000)) {
      try {
        const beginning = (await consumer.committed([at]))[0]?.beginning ?? 0;
        if (state.dropped) return;
        if (beginning > state.window.next()) {
          log.warn({ ...at, next: state.window.next(), beginning }, "retention removed records before they were taken");
          state.window.advanceTo(beginning);
        } else log.debug({ ...at, next: state.window.next(), from }, "a batch from ahead is left out and read again");
        consumer.seek(at, state.window.next());
        state.paused = false;
        consumer.resume([state]);
        schedule();
        return;
      } catch (error) {
        log.debug({ err: error, ...at }, "the beginning of a partition is not to be had yet");
        await sleep(wait);
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
    const problems = [...(hanging?.problems() ?? []), ...stalls];
    return { ...stall, ...(problems.length > 0 ? { problems } : {}) };
  };

  async function initialise(): Promise<void> {
    for (let wait = 100; ; wait = Math.min(2 * wait, 5_000)) {
      try {
        await producer.initialise();
        return;
      } catch (error) {
        log.warn({ err: error }, "can't initialise the producer, trying again");
        await sleep(wait);
        if (stopping) throw error;
      }
    }
  }

  return {
    name,
    async start() {
      // Before joining: ends a predecessor's open transaction, which would stall its readers and our adoption.
      await initialise();
      settling = setInterval(committer.settle, settleMs);
      const search = (): HangingSearch => ({
        groups: [group],
        topics: [...options.topics, ...outputs()],
        idPrefix: group,
      });
      hanging = watchHanging({ kafka, search, log });
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
      ...{ joined, partitions: [...adoption.states()].length, inFlight: places.inFlight() },
      ...problemsNow(),
    }),
  };
}
