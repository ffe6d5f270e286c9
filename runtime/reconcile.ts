// What became of a transaction of unknown outcome, by committed positions; finished work is kept,
// so no model is called twice.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { backoff } from "../algorithms/queueing/backoff.ts";
import type { GroupConsumer } from "../connections/kafka/port.ts";
import { partitionKey, type PartitionState, type StoredPosition } from "./partition.ts";

export interface Attempt {
  state: PartitionState;
  position: StoredPosition & { offset: number };
}

/** committed; undone: may be sent again; unknown: another process moved the position. */
export type Outcome = "committed" | "undone" | "unknown";

/** before: prior to the attempt; found: read after the producer was initialised. */
export function outcomeOf(attempted: StoredPosition, before: StoredPosition, found: StoredPosition): Outcome {
  if (same(found, attempted)) return "committed";
  return same(found, before) ? "undone" : "unknown";
}

export const same = (one: StoredPosition, other: StoredPosition): boolean =>
  one.offset === other.offset && one.metadata === other.metadata;

export interface ReconcileOptions {
  consumer: Pick<GroupConsumer, "committed">;
  /** Forgets these partitions and reads their positions again. */
  readAgain: (states: readonly PartitionState[], why: string) => void;
  log: Logger;
}

const retryMs = { first: 50, limit: 1_000 };

/** The committed attempts. Waits for the broker while a partition is held. */
export async function reconcile<A extends Attempt>(
  attempts: readonly A[],
  { consumer, readAgain, log }: ReconcileOptions,
): Promise<ReadonlySet<A>> {
  const waits = backoff(retryMs);
  for (;;) {
    try {
      const asked = attempts.filter(({ state }) => !state.dropped);
      if (asked.length === 0) return new Set();
      const found = await consumer.committed(asked.map(({ state: { topic, partition } }) => ({ topic, partition })));
      const outcomes = new Map(found.map((position) => [partitionKey(position), position] as const));
      const reported = asked
        .filter(({ state }) => !state.dropped)
        .map((attempt) => {
          const { offset, metadata = "" } = outcomes.get(partitionKey(attempt.state)) ?? { offset: undefined };
          return { attempt, outcome: outcomeOf(attempt.position, attempt.state.stored, { offset, metadata }) };
        });
      const moved = reported.filter(({ outcome }) => outcome === "unknown").map(({ attempt }) => attempt.state);
      if (moved.length > 0) readAgain(moved, "another process has moved the partition's position");
      return new Set(reported.filter(({ outcome }) => outcome === "committed").map(({ attempt }) => attempt));
    } catch (error) {
      const wait = waits.next();
      log[wait < retryMs.limit ? "debug" : "warn"]({ err: error }, "a transaction's outcome is not to be had yet");
      await sleep(wait);
    }
  }
}
