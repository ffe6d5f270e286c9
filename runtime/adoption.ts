// Who holds which partition, from where (docs/design/delivery.md, Adoption): keep what the same
// member held in this generation or the one before, read the others' positions stably.
import type { Logger } from "pino";
import type { CommittedOffset, GroupConsumer, GroupMember, TopicPartition } from "../connections/kafka/port.ts";
import { sameOrigin, unknownOrigin } from "../algorithms/identity/origin.ts";
import { adoptReadable } from "./adopt-readable.ts";
import { confirmTruncation } from "./confirm-truncation.ts";
import { createKnownPositions } from "./known-positions.ts";
import { drop, partitionKey, type PartitionState } from "./partition.ts";
import { reconcile, type Attempt } from "./reconcile.ts";
import { beginPartition } from "./begin-partition.ts";
import { createResults } from "./results.ts";
import type { Surprise } from "./starting-position.ts";

export interface AdoptionOptions {
  consumer: GroupConsumer;
  /** Called before records of newly adopted partitions are taken; rejects to be tried again. */
  onAdopt: (partitions: readonly TopicPartition[]) => Promise<void>;
  onDropped: (state: PartitionState) => void;
  /** What onAdopt was called with, and another join took away before a record of it was taken. */
  onAbandoned?: (partition: TopicPartition) => void;
  onReady: (states: readonly PartitionState[]) => void;
  /** A partition goes on somewhere else than where it was. */
  onReset?: (partition: TopicPartition, surprise: Surprise | "forgotten") => void;
  /** How long a log must seem to have lost its end, milliseconds. */
  confirmTruncationMs?: number;
  /** Uncommitted results outlive a lost membership (results.ts). */
  keepResults?: boolean;
  log: Logger;
}

export type Adoption = ReturnType<typeof createAdoption>;

export function createAdoption(options: AdoptionOptions) {
  const { consumer, onAdopt, onDropped, onAbandoned, onReady, onReset, log } = options;
  const truncation = confirmTruncation(Date.now, options.confirmTruncationMs);
  const results = createResults();
  const held = new Map<string, PartitionState>();
  let assigned: readonly TopicPartition[] = [];
  let member: GroupMember | undefined;
  /** Counts joins: an adoption that was overtaken by the next one is discarded. */
  let joins = 0;
  let stopped = false;

  const known = createKnownPositions();

  const letGo = (keep: ReadonlySet<string>, reason: string): void => {
    for (const [key, state] of held) {
      if (keep.has(key)) continue;
      held.delete(key);
      known.note(state);
      drop(state, new Error(reason));
      onDropped(state);
    }
  };

  const begin = (committed: CommittedOffset): PartitionState => {
    const { state, surprise } = beginPartition(committed, { known, onReset, log });
    const key = partitionKey(state);
    if (surprise === undefined) results.restore(state);
    else truncation.clear(key);
    held.set(key, state);
    consumer.seek(state, state.window.next());
    return state;
  };

  const adopt = async (join: number, wanted: readonly TopicPartition[]): Promise<void> => {
    const isOvertaken = (): boolean => join !== joins;
    const left = await adoptReadable(wanted, { consumer, truncation, onAdopt, take, isOvertaken, log });
    const now = new Set(assigned.map(partitionKey));
    for (const partition of left) if (!now.has(partitionKey(partition))) onAbandoned?.(partition);
  };

  const take = (positions: readonly CommittedOffset[]): void => {
    const states = positions.map(begin);
    consumer.resume(states);
    onReady(states);
  };

  /** Forgets these partitions and reads their positions again. */
  const readAgain = (states: readonly PartitionState[], why: string): void => {
    for (const state of states) {
      held.delete(partitionKey(state));
      known.note(state);
      drop(state, new Error(why));
      onDropped(state);
    }
    const partitions = states.map(({ topic, partition }) => ({ topic, partition }));
    consumer.pause(partitions);
    void adopt(joins, partitions);
  };

  return {
    /**
     * What became of a transaction, once the producer is initialised. Partitions moved by others
     * are read again. Waits for the broker while a partition is held.
     */
    reconcile: <A extends Attempt>(attempts: readonly A[]): Promise<ReadonlySet<A>> =>
      reconcile(attempts, { consumer, readAgain, log }),
    readAgain,
    /**
     * Reads partitions again whose topic or cluster is another. Rejects while the broker is away.
     */
    async compareOrigins(): Promise<void> {
      const topics = [...new Set([...held.values()].map(({ topic }) => topic))];
      if (topics.length === 0) return;
      const now = await consumer.origins(topics);
      const others = [...held.values()].filter(
        ({ topic, origin }) => !sameOrigin(origin, now.get(topic) ?? unknownOrigin),
      );
      if (others.length === 0) return;
      log.error({ partitions: others.map(partitionKey) }, "the topic was made anew while it was read");
      readAgain(others, "the topic was made anew");
    },
    /** Synchronous part of a join; the rest goes on by itself. */
    join(next: GroupMember, partitions: readonly TopicPartition[]): void {
      if (stopped) return;
      // The same generation once more, or the next: no other process had the partitions in between,
      // and what this member is about to commit may still go through. Read again, its position
      // could be the one from before that commit, and the records of it would be done twice.
      const consecutive =
        member?.id === next.id && [member.generation, member.generation + 1].includes(next.generation);
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
    /** Forgets everything in memory and reads the positions of the current assignment again. */
    anew(): void {
      if (stopped) return;
      const join = ++joins;
      letGo(new Set(), "positions are read again after an unknown outcome");
      consumer.pause(assigned);
      if (assigned.length > 0) void adopt(join, assigned);
    },
    /** This member may not commit any more. */
    forget(former: GroupMember): void {
      if (member === former) member = undefined;
    },
    member: (): GroupMember | undefined => member,
    states: (): Iterable<PartitionState> => held.values(),
    state: (topic: string, partition: number): PartitionState | undefined =>
      held.get(partitionKey({ topic, partition })),
    assigned: (): readonly TopicPartition[] => assigned,
    stop(): void {
      stopped = true;
      joins++;
      letGo(new Set(), "the stage stops");
    },
  };
}
