// Which delivered records are under way: fair turns (slots.ts); long queues pause a partition.
import type { Logger } from "pino";
import type { GroupConsumer, RawRecord } from "../connections/kafka/port.ts";
import { windowOffsets } from "./finished-offsets.ts";
import type { StageMetrics } from "./metrics/port.ts";
import { deliver, type PartitionState, type TaskEntry } from "./partition.ts";
import { createSlots, type SlotsOptions, type Turn } from "./slots.ts";
import type { Process } from "./stage-options.ts";
import type { Slot, Position } from "./step.ts";

export interface ScheduleOptions extends SlotsOptions {
  consumer: Pick<GroupConsumer, "pause" | "resume">;
  process: Process;
  states: () => Iterable<PartitionState>;
  stopped: () => boolean;
  /** An entry is done: its outputs wait to be committed. */
  onDone: () => void;
  metrics: StageMetrics;
  log: Logger;
}

export type Schedule = ReturnType<typeof createSchedule>;

/** A partition pauses at so many waiting records: only fetched ones can pass a flooding flow. */
const waitingLimit = { records: 256, recordsOfFlows: windowOffsets, bytes: 8 * 1024 * 1024 };

export const positionOf = (state: PartitionState, entry: TaskEntry): Position => ({
  topic: state.topic,
  partition: state.partition,
  offset: entry.offset,
});

export function createSchedule(options: ScheduleOptions) {
  const { consumer, process, states, stopped, onDone, metrics, log } = options;
  const slots = createSlots(options);
  /** With a slot, or at work elsewhere. */
  const underWay = (): number => slots.inFlight() + slots.elsewhere();
  const waitingRecords = options.flowOf === undefined ? waitingLimit.records : waitingLimit.recordsOfFlows;

  const run = (): void => {
    for (let turn: Turn | undefined; !stopped() && (turn = slots.next()) !== undefined;) begin(turn);
    for (const state of states()) regulate(state);
  };

  function regulate(state: PartitionState): void {
    const { bytes } = waitingLimit;
    const full =
      stopped() ||
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
    metrics.inFlight(underWay());
    if (entry.state === "running") {
      task.onSlot?.();
      return;
    }
    entry.state = "running";
    state.waiting--;
    state.waitingBytes -= task.bytes;
    const ready = state.results.get(entry.offset);
    state.results.delete(entry.offset);
    const work =
      ready === undefined
        ? process(task.record, positionOf(state, entry), task.controller, slotOf(state, entry))
        : Promise.resolve(ready);
    work.then(
      (messages) => {
        if (state.dropped) return;
        task.messages = messages;
        entry.state = "done";
        onDone();
      },
      (error: unknown) => {
        if (!state.dropped) log.error({ err: error, ...positionOf(state, entry) }, "a record was left unfinished");
      },
    );
  }

  const slotOf = (state: PartitionState, entry: TaskEntry): Slot => ({
    leave(waiting) {
      const left = slots.park(entry.item, waiting);
      if (left) setImmediate(run);
      return left;
    },
    take: () =>
      new Promise((resolve) => {
        if (entry.item.slot !== "parked") {
          resolve();
          return;
        }
        entry.item.onSlot = resolve;
        slots.wait({ state, entry });
        run();
      }),
  });

  /** Its outputs are committed, or are no longer wanted. */
  const release = (entry: TaskEntry): void => {
    slots.release(entry.item);
    metrics.inFlight(underWay());
  };

  return {
    /** Takes up delivered records of a partition; what was delivered before is ignored. */
    deliver(state: PartitionState, records: readonly RawRecord[], next: number): void {
      metrics.received(deliver(state, records, next, (entry) => slots.wait({ state, entry })));
      run();
    },
    run,
    release,
    /** The partition belongs to another process. */
    drop(state: PartitionState): void {
      slots.drop(state);
      for (const entry of state.window.entries()) release(entry);
    },
    inFlight: underWay,
  };
}
