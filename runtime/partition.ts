// What a stage holds of an assigned partition: its window, what waits, and letting go of it.
import type { OutgoingMessage, RawRecord, TopicPartition } from "../connections/kafka/port.ts";
import { unknownOrigin, type Origin } from "../algorithms/identity/origin.ts";
import { LazyAbort } from "./lazy-abort.ts";
import type { Entry, Window } from "./window.ts";
import { createWindow } from "./window.ts";

export interface Task {
  record: RawRecord;
  bytes: number;
  controller: LazyAbort;
  messages: OutgoingMessage[];
  flow: string;
  /** Whether it counts against the in-flight limits, or waits outside of them (slots.ts). */
  slot: "none" | "taken" | "parked";
  /** Pool of a parked one: in which pool, and with how many bytes. */
  parkedIn?: { pool: string; bytes: number } | undefined;
  /** A parked one that waits to have a slot again: told when it has. */
  onSlot?: (() => void) | undefined;
  refusals: number;
}

export type TaskEntry = Entry<Task>;

/** Committed offset and finished ones beyond; no offset: nothing committed. */
export interface StoredPosition {
  offset: number | undefined;
  metadata: string;
}

export interface PartitionState extends TopicPartition {
  window: Window<Task>;
  waiting: number;
  committed: number;
  origin: Origin;
  /** What the broker has of it, unless a transaction is under way. */
  stored: StoredPosition;
  waitingBytes: number;
  /** Ready outputs of a partition that was lost and came back, by offset. */
  results: Map<number, OutgoingMessage[]>;
  /** Fetching is paused because enough waits. */
  paused: boolean;
  dropped: boolean;
}

export const partitionKey = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`;

export function createPartition(
  at: TopicPartition,
  base: number,
  finished: Iterable<number>,
  stored: StoredPosition = { offset: undefined, metadata: "" },
  origin: Origin = unknownOrigin,
): PartitionState {
  return {
    topic: at.topic,
    partition: at.partition,
    window: createWindow<Task>(base, finished),
    waiting: 0,
    committed: base,
    stored,
    origin,
    waitingBytes: 0,
    results: new Map(),
    paused: false,
    dropped: false,
  };
}

/** Takes new records and returns how many; onNew is called for each. */
export function deliver(
  state: PartitionState,
  records: readonly RawRecord[],
  nextOffset: number,
  onNew: (entry: TaskEntry) => void = () => undefined,
): number {
  let added = 0;
  for (const record of records) {
    const bytes = (record.key?.length ?? 0) + (record.value?.length ?? 0);
    const controller = new LazyAbort();
    const task: Task = { record, bytes, controller, messages: [], flow: "", slot: "none", refusals: 0 };
    const entry = state.window.add(record.offset, task);
    if (entry === undefined) {
      forget(task);
      continue;
    }
    state.waiting++;
    state.waitingBytes += bytes;
    onNew(entry);
    added++;
  }
  state.window.advanceTo(nextOffset);
  return added;
}

/** Lets the bytes of a finished record go: its entry may stay for long, behind one that is slow. */
export function forget(task: Task): void {
  task.record = { ...task.record, key: null, value: null, headers: {} };
  task.messages = [];
}

export function drop(state: PartitionState, reason: Error): void {
  state.dropped = true;
  state.waiting = 0;
  for (const entry of state.window.entries()) {
    if (entry.state === "running") entry.item.controller.abort(reason);
  }
}
