// Who holds which partition, and from where: on every join, keep what the same member held in the generation before, let the
// rest go, and read the rest's positions stably before a record of it is taken (spec 05, point 3). Each partition is adopted as soon as its own
// position can be read: one that can't be holds up no other.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { CommittedOffset, GroupConsumer, GroupMember, TopicPartition } from "../connections/kafka/port.ts";
import { decodeFinished } from "./finished-offsets.ts";
import { rarely } from "./rarely.ts";
import { createPartition, drop, partitionKey, type PartitionState } from "./partition.ts";
import { outcomeOf, type Attempt } from "./reconcile.ts";
import { createResults } from "./results.ts";

export interface AdoptionOptions {
  consumer: GroupConsumer;
  /** Called before records of newly adopted partitions are taken; rejects to be tried again. */
  onAdopt: (partitions: readonly TopicPartition[]) => Promise<void>;
  onDropped: (state: PartitionState) => void;
  /** What onAdopt was told of, and another join took away before a record of it was taken. */
  onForsaken?: (partition: TopicPartition) => void;
  onReady: (states: readonly PartitionState[]) => void;
  /** Results that could not be committed outlive a lost membership (results.ts); not for work that depends on what onAdopt restores. */
  keepResults?: boolean;
  log: Logger;
}

export interface Adoption {
  /** Synchronous part of a join; the rest goes on by itself. */
  join(member: GroupMember, partitions: readonly TopicPartition[]): void;
  /** Forgets everything in memory and reads the positions of the current assignment again. */
  anew(): void;
  /**
   * Finds out what became of a transaction, once the producer is initialised: the attempts that were committed. A partition whose position was
   * moved by somebody else is forgotten and read again. Waits for the broker as long as one of the partitions is held.
   */
  reconcile<A extends Attempt>(attempts: readonly A[]): Promise<ReadonlySet<A>>;
  /** This member may not commit any more. */
  forget(member: GroupMember): void;
  member(): GroupMember | undefined;
  states(): Iterable<PartitionState>;
  state(topic: string, partition: number): PartitionState | undefined;
  assigned(): readonly TopicPartition[];
  /** Lets everything go; overtakes adoptions under way. */
  stop(): void;
}

const retryMs = { first: 50, limit: 1_000 };
/** Warnings of what waits. */
const warnMs = { first: 1_000, limit: 30_000 };

export function createAdoption(options: AdoptionOptions): Adoption {
  const { consumer, onAdopt, onDropped, onForsaken, onReady, log } = options;
  const results = createResults();
  const held = new Map<string, PartitionState>();
  let assigned: readonly TopicPartition[] = [];
  let member: GroupMember | undefined;
  /** Counts joins: an adoption that was overtaken by the next one is discarded. */
  let joins = 0;
  let stopped = false;

  const letGo = (keep: ReadonlySet<string>, reason: string): void => {
    for (const [key, state] of held) {
      if (keep.has(key)) continue;
      held.delete(key);
      drop(state, new Error(reason));
      onDropped(state);
    }
  };

  const adopt = async (join: number, wanted: readonly TopicPartition[]): Promise<void> => {
    let remaining = wanted;
    const due = rarely(warnMs, Date.now);
    const complain = (why: object): void =>
      log[due() ? "warn" : "debug"](why, "positions are not to be had yet, trying again");
    for (let wait = retryMs.first; join === joins; wait = Math.min(2 * wait, retryMs.limit)) {
      try {
        const { known, waiting } = await consumer.committedNow(remaining);
        if (join !== joins) break;
        if (known.length > 0) {
          await onAdopt(known.map(({ topic, partition }) => ({ topic, partition })));
          if (join !== joins) break;
          take(known);
          remaining = waiting.map(({ topic, partition }) => ({ topic, partition }));
        }
        if (waiting.length === 0) return;
        complain({ waiting });
      } catch (error) {
        if (join !== joins) break;
        complain({ err: error });
      }
      await sleep(wait);
    }
    const now = new Set(assigned.map(partitionKey));
    for (const partition of remaining) if (!now.has(partitionKey(partition))) onForsaken?.(partition);
  };

  const take = (positions: readonly CommittedOffset[]): void => {
    const states = positions.map(({ topic, partition, offset, metadata, beginning }) => {
      // Nothing committed, or retention has overtaken us: what the broker still has is what there is.
      const gone = offset !== undefined && offset < beginning;
      if (gone) log.warn({ topic, partition, offset, beginning }, "retention removed records before they were taken");
      const base = offset === undefined || gone ? beginning : offset;
      const finished = gone ? [] : decodeFinished(metadata).map((relative) => relative + base);
      const state = createPartition({ topic, partition }, base, finished, { offset, metadata });
      results.restore(state);
      held.set(partitionKey(state), state);
      consumer.seek(state, base);
      return state;
    });
    consumer.resume(states);
    onReady(states);
  };

  const readAgain = (states: readonly PartitionState[]): void => {
    for (const state of states) {
      held.delete(partitionKey(state));
      drop(state, new Error("somebody else has moved the partition's position"));
      onDropped(state);
    }
    const partitions = states.map(({ topic, partition }) => ({ topic, partition }));
    consumer.pause(partitions);
    void adopt(joins, partitions);
  };

  const reconcile = async <A extends Attempt>(attempts: readonly A[]): Promise<ReadonlySet<A>> => {
    for (let wait = retryMs.first; ; wait = Math.min(2 * wait, retryMs.limit)) {
      try {
        const asked = attempts.filter(({ state }) => !state.dropped);
        if (asked.length === 0) return new Set();
        const found = await consumer.committed(asked.map(({ state: { topic, partition } }) => ({ topic, partition })));
        const outcomes = new Map(found.map((position) => [partitionKey(position), position] as const));
        const told = asked
          .filter(({ state }) => !state.dropped)
          .map((attempt) => {
            const { offset, metadata = "" } = outcomes.get(partitionKey(attempt.state)) ?? { offset: undefined };
            return { attempt, outcome: outcomeOf(attempt.position, attempt.state.stored, { offset, metadata }) };
          });
        const moved = told.filter(({ outcome }) => outcome === "unknown").map(({ attempt }) => attempt.state);
        if (moved.length > 0) readAgain(moved);
        return new Set(told.filter(({ outcome }) => outcome === "committed").map(({ attempt }) => attempt));
      } catch (error) {
        log[wait < retryMs.limit ? "debug" : "warn"]({ err: error }, "a transaction's outcome is not to be had yet");
        await sleep(wait);
      }
    }
  };

  return {
    reconcile,
    join(next, partitions) {
      if (stopped) return;
      const consecutive = member !== undefined && member.id === next.id && next.generation === member.generation + 1;
      member = next;
      assigned = partitions;
      const join = ++joins;
      const keep = new Set(consecutive ? partitions.map(partitionKey).filter((key) => held.has(key)) : []);
      if (options.keepResults === true)
        results.keep([...held.values()].filter((state) => !keep.has(partitionKey(state))));
      letGo(keep, "the partition went to another process");
      const kept = [...held.values()];
      for (const state of kept) {
        consumer.seek(state, state.window.next());
        state.paused = false;
      }
      consumer.resume(kept);
      if (kept.length > 0) onReady(kept);
      const wanted = partitions.filter((partition) => !keep.has(partitionKey(partition)));
      if (wanted.length > 0) void adopt(join, wanted);
    },
    anew() {
      if (stopped) return;
      const join = ++joins;
      letGo(new Set(), "positions are read again after an unknown outcome");
      consumer.pause(assigned);
      if (assigned.length > 0) void adopt(join, assigned);
    },
    forget(former) {
      if (member === former) member = undefined;
    },
    member: () => member,
    states: () => held.values(),
    state: (topic, partition) => held.get(partitionKey({ topic, partition })),
    assigned: () => assigned,
    stop() {
      stopped = true;
      joins++;
      letGo(new Set(), "the stage stops");
    },
  };
}
