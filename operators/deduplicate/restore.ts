// What a process must know of a partition before it takes its first request: the ids that were seen
// in it. Each lies in the same partition of the topic seen-ids, committed in one transaction with
// the first request that has it. What the group has committed and what is read here agree, whatever
// becomes of ClickHouse and however far behind record is.
import type { Logger } from "pino";
import type { Kafka } from "../../connections/kafka/port.ts";
import type { Codec } from "../../connections/registry/port.ts";
import { followPartitions } from "../../runtime/table.ts";
import type { Topic } from "../../schemas/records.ts";
import { mostSeen, SEEN_FOR_MS, type SeenIds } from "./seen.ts";

export interface RestoreDependencies {
  kafka: Pick<Kafka<never, Topic<"seen-ids">, never>, "followTopic" | "spans">;
  codec: Codec;
  topic: Topic<"seen-ids">;
  /** Full name of the topic that the ids are of. */
  requests: string;
  seen: Pick<SeenIds, "restore" | "size">;
  clock: () => number;
  log: Logger;
}

export interface Restore {
  /**
   * Resolves when the ids of these partitions are known, as far as they were committed at this
   * call; waits for the brokers and for open transactions as long as it takes, unless the partition
   * is dropped. Rejects while the brokers don't say what there is.
   */
  adopt(partitions: readonly number[]): Promise<void>;
  drop(partition: number): void;
  /** Partitions whose ids are being read. */
  waiting(): number;
  stop(): Promise<void>;
}

/** Offsets read for each id: control markers and aborted transactions take some. */
const offsetsPerId = 3;

export function createRestore(dependencies: RestoreDependencies): Restore {
  const { kafka, topic, requests, seen, clock, log } = dependencies;
  /** The newest reading of each partition: an older one must not end it. */
  const reading = new Map<number, object>();
  const follower = followPartitions({
    ...dependencies,
    record: "seen-ids",
    apply(changes, { partition }) {
      const since = clock() - SEEN_FOR_MS;
      seen.restore(
        changes.flatMap(({ value }) => {
          if (value === null || value.seenAt <= since) return [];
          const { tenant, requestId, offset, hash, seenAt } = value;
          return [{ tenant, id: requestId, position: { topic: requests, partition, offset }, seenAt, hash }];
        }),
      );
    },
    onRewound: () => undefined,
  });
  const end = (partition: number): void => {
    reading.delete(partition);
    follower.unfollow(partition);
  };

  return {
    async adopt(partitions) {
      const began = performance.now();
      const spans = new Map((await kafka.spans(topic)).map((span) => [span.partition, span]));
      await Promise.all(
        partitions.map(async (partition) => {
          const span = spans.get(partition);
          if (span === undefined) {
            const remedy = `give ${topic} as many partitions as ${requests} has`;
            log.error({ topic, partition, remedy }, "ids of a partition are not remembered: it has none for them");
            return;
          }
          const own = {};
          reading.set(partition, own);
          follower.follow(partition, Math.max(span.beginning, span.end - offsetsPerId * mostSeen));
          await follower.caughtUp(partition);
          if (reading.get(partition) === own) end(partition);
        }),
      );
      const ms = Math.round(performance.now() - began);
      log.info({ partitions: partitions.length, ids: seen.size(), ms }, "ids restored");
    },
    drop: end,
    waiting: () => reading.size,
    stop: follower.stop,
  };
}
