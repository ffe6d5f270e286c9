// Partitions of `examples` that a process holds: all (global) or those of its requests (shared),
// restored before a request is taken; lost ones are followed for a grace.
import pLimit from "p-limit";
import type { Logger } from "pino";
import type { PartitionSpan, TopicFollower } from "../../connections/kafka/port.ts";
import type { ExamplePool } from "./port.ts";
import type { PlacementMode } from "../policies/placement.ts";

export interface PartitionAssignmentDependencies {
  follower: Pick<TopicFollower, "follow" | "unfollow" | "position" | "caughtUp">;
  pool: Pick<ExamplePool, "position" | "release">;
  /** Partitions of the topic examples. Rejects while the broker is away. */
  spans(): Promise<PartitionSpan[]>;
  /** Milliseconds for which a partition that went away is still followed. */
  graceMs: number;
  log: Logger;
}

export interface PartitionAssignment {
  /** Global: all; shared: what the pool has. Resolves when followed; waits for the broker. */
  start(mode: PlacementMode): Promise<void>;
  /** Takes effect by itself, as soon as the broker is there. */
  setMode(mode: PlacementMode): void;
  /** Resolves when all that is followed is restored. Rejects while the broker is away. */
  adopt(requestPartitions: readonly number[]): Promise<void>;
  drop(requestPartition: number): void;
  /** Resolves when all that is followed now is restored. */
  restored(): Promise<void>;
  /** Every partition of the topic is here and was restored. */
  complete(): boolean;
  /** The partition of examples that belongs to one of requests. */
  examplesPartition(requestPartition: number): number;
  /** How far that was read; undefined: it is not followed. */
  position(requestPartition: number): number | undefined;
  stop(): void;
}

interface Held {
  ready: Promise<void>;
  restored: boolean;
  leaving: NodeJS.Timeout | undefined;
}

const retryMs = 500;

export function createPartitionAssignment({
  follower,
  pool,
  spans,
  graceMs,
  log,
}: PartitionAssignmentDependencies): PartitionAssignment {
  const held = new Map<number, Held>();
  const assigned = new Set<number>();
  let mode: PlacementMode = "global";
  let partitions = 0;
  let stopped = false;
  const inTurn = pLimit(1);
  // There are as many of each, as a rule; where an operator added partitions to requests the rest
  // shares.
  const exampleOf = (request: number): number => (partitions === 0 ? request : request % partitions);
  const isWanted = (partition: number): boolean =>
    mode === "global" || [...assigned].some((request) => exampleOf(request) === partition);

  const follow = async ({ partition, beginning, end }: PartitionSpan): Promise<void> => {
    const known = held.get(partition);
    if (known !== undefined) {
      clearTimeout(known.leaving);
      known.leaving = undefined;
      return;
    }
    let from = pool.position(partition);
    if (from !== null && (from < beginning || from > end)) {
      log.warn(
        { partition, position: Number(from), beginning, end },
        "the pool's position is not on the topic: read anew",
      );
      await pool.release(partition);
      from = null;
    }
    const began = Date.now();
    const start = from === null ? beginning : Number(from);
    follower.follow(partition, start);
    const entry: Held = { ready: Promise.resolve(), restored: false, leaving: undefined };
    entry.ready = follower.caughtUp(partition).then(() => {
      entry.restored = true;
      log.info(
        { partition, from: start, to: follower.position(partition), ms: Date.now() - began },
        "examples restored",
      );
    });
    held.set(partition, entry);
  };
  const leave = (partition: number, entry: Held): void => {
    entry.leaving ??= setTimeout(() => {
      void inTurn(async () => {
        if (entry.leaving === undefined || held.get(partition) !== entry || isWanted(partition)) return;
        follower.unfollow(partition);
        held.delete(partition);
        await pool.release(partition);
        log.info({ partition }, "examples of a partition that went away are forgotten");
      }).catch((error: unknown) => log.error({ err: error, partition }, "a partition can't be forgotten"));
    }, graceMs).unref();
  };
  /** Follows what is wanted and not there, and lets the rest go in time. */
  const settle = (alsoHeld = false): Promise<void> =>
    inTurn(async () => {
      const all = await spans();
      partitions = all.length;
      for (const span of all)
        if (!stopped && (isWanted(span.partition) || (alsoHeld && pool.position(span.partition) !== null)))
          await follow(span);
      for (const [partition, entry] of held) if (!isWanted(partition)) leave(partition, entry);
    });
  const settleSoon = async (alsoHeld = false): Promise<void> => {
    while (!stopped) {
      try {
        await settle(alsoHeld);
        return;
      } catch (error) {
        log.warn({ err: error }, "the examples to hold can't be settled yet");
        await new Promise((resolve) => setTimeout(resolve, retryMs).unref());
      }
    }
  };
  const restored = async (): Promise<void> => {
    await Promise.all([...held.values()].map(({ ready }) => ready));
  };

  return {
    start(first) {
      mode = first;
      return settleSoon(true);
    },
    setMode(next) {
      if (next === mode) return;
      log.info({ from: mode, to: next }, next === "shared" ? "examples of the own partitions only" : "all examples");
      mode = next;
      void settleSoon();
    },
    async adopt(requests) {
      for (const request of requests) assigned.add(request);
      await settle();
      await restored();
    },
    drop(request) {
      assigned.delete(request);
      const partition = exampleOf(request);
      const entry = held.get(partition);
      if (entry !== undefined && !isWanted(partition)) leave(partition, entry);
    },
    restored,
    complete: () => partitions > 0 && held.size === partitions && [...held.values()].every((entry) => entry.restored),
    examplesPartition: exampleOf,
    position: (request) => follower.position(exampleOf(request)),
    stop() {
      stopped = true;
      for (const { leaving } of held.values()) clearTimeout(leaving);
    },
  };
}
