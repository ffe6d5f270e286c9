// Follows the topic `examples` into a pool: every partition from the pool's position, partitions
// that are added later from their beginning.
import type { Logger } from "pino";
import type { PartitionSpan, TopicFollower } from "../../connections/kafka/port.ts";
import { untilReachable } from "../../connections/kafka/retry.ts";
import type { ExamplePool } from "./port.ts";

export interface FollowExamplesDependencies {
  follower: Pick<TopicFollower, "follow" | "caughtUp">;
  pool: Pick<ExamplePool, "position" | "release">;
  /** Partitions of the topic. Rejects while the broker is away. */
  spans(): Promise<PartitionSpan[]>;
  log: Logger;
  /** Milliseconds between looks for added partitions. */
  everyMs?: number;
}

const lookEveryMs = 10_000;

/** Resolves when all partitions are followed. Waits while the broker is away. */
export async function followExamples(dependencies: FollowExamplesDependencies) {
  const { follower, pool, spans, log, everyMs = lookEveryMs } = dependencies;
  const followed = new Map<number, Promise<void>>();
  let stopped = false;

  async function follow({ partition, beginning, end }: PartitionSpan): Promise<void> {
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
    const restored = follower
      .caughtUp(partition)
      .then(() => log.debug({ partition, from: start, ms: Date.now() - began }, "examples restored"));
    // Those of partitions that were added later are waited for by nothing.
    restored.catch(() => undefined);
    followed.set(partition, restored);
  }
  async function followAll(): Promise<void> {
    if (stopped) return;
    for (const span of await spans()) if (!stopped && !followed.has(span.partition)) await follow(span);
  }

  await untilReachable(followAll, { log });
  let looking: Promise<void> | null = null;
  const timer = setInterval(() => {
    // While the broker is away a look may take longer than the time between two.
    looking ??= followAll()
      .catch((error: unknown) => log.debug({ err: error }, "added partitions of examples are not known yet"))
      .finally(() => (looking = null));
  }, everyMs).unref();
  return {
    /** Resolves when the pool has what was on the topic when each partition was first followed. */
    async restored(): Promise<void> {
      await Promise.all(followed.values());
    },
    async stop(): Promise<void> {
      stopped = true;
      clearInterval(timer);
      await looking;
    },
  };
}
