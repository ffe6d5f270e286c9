// The input of a sink that keeps its positions where its rows are: on every join it asks where to
// go on, seeks there and only then lets records through. Commits to Kafka are for the eyes of lag
// monitors alone.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { backoff } from "../../algorithms/queueing/backoff.ts";
import { sameOrigin, unknownOrigin, type Origin } from "../../algorithms/identity/origin.ts";
import type { GroupConsumer, PartitionProgress, SinkHandlers, SinkSource, TopicPartition } from "./port.ts";

/** How far a partition was read: markers take offsets and must not show as lag. */
interface Progress extends TopicPartition {
  /** Position after the last record handed over, and after the control markers that follow it. */
  handed: number;
  next: number;
  /** What its offsets belong to. */
  origin: Origin;
  /** Positions that the sink has stored, and that were committed to Kafka. */
  stored: number;
  committed: number;
}

/** How soon an idle group's lag drops to 0 after control markers. */
const settleMs = 1_000;

/** How often topics are compared with what they were. */
const compareMs = 5_000;

/** A source that says how far it is. */
export interface WatchedSource extends SinkSource {
  /** What the offsets that are handed over belong to. */
  origin(topic: string, partition: number): Origin;
  assigned(): readonly TopicPartition[];
  progress(topic: string, partition: number): PartitionProgress | undefined;
}

/** onReset: a partition could not go on where the sink's store says. */
export function createSinkSource(
  consumer: GroupConsumer,
  log: Logger,
  onReset: (reason: "truncated" | "another_topic") => void = () => undefined,
): WatchedSource {
  let joins = 0;
  let assigned: readonly TopicPartition[] = [];
  let progress = new Map<string, Progress>();
  let settling: NodeJS.Timeout | undefined;
  let comparing: NodeJS.Timeout | undefined;
  const progressOf = (topic: string, partition: number): Progress | undefined => progress.get(`${topic}/${partition}`);

  /** The last commit counts, even a lower one: records read again lie below it. */
  const tell = async (positions: readonly (TopicPartition & { offset: number })[]): Promise<void> => {
    await consumer.commit(positions);
    for (const { topic, partition, offset } of positions) {
      const reached = progressOf(topic, partition);
      if (reached !== undefined) reached.committed = offset;
    }
  };

  const settle = (): void => {
    const passed = [...progress.values()].filter((p) => p.stored >= p.handed && p.next > p.committed);
    if (passed.length === 0) return;
    const positions = passed.map(({ topic, partition, next }) => ({ topic, partition, offset: next }));
    // A failed commit is repeated with the next one.
    tell(positions).catch((error: unknown) => log.debug({ err: error }, "lag is not up to date"));
  };

  const adopt = async (join: number, partitions: readonly TopicPartition[], handlers: SinkHandlers): Promise<void> => {
    const waits = backoff({ first: 100, limit: 5_000 });
    while (join === joins) {
      try {
        const origins = await consumer.origins([...new Set(partitions.map(({ topic }) => topic))]);
        const originOf = (topic: string): Origin => origins.get(topic) ?? unknownOrigin;
        const [positions, kafka] = await Promise.all([
          handlers.onAssigned(partitions.map((one) => ({ ...one, origin: originOf(one.topic) }))),
          consumer.committed(partitions),
        ]);
        if (join !== joins) return;
        if (kafka.some(({ topic, current }) => !sameOrigin(current, originOf(topic))))
          throw new Error("a topic was made anew meanwhile");
        for (const { topic, partition, offset, anotherTopic = false } of positions) {
          if (anotherTopic) {
            log.error(
              { topic, partition },
              "what is stored belongs to another topic or cluster: this one is read from its beginning",
            );
            onReset("another_topic");
          }
          const known = kafka.find((p) => p.topic === topic && p.partition === partition);
          // Beyond the end stands what the store has of a topic that was deleted and made again, or
          // of a log that lost its end: of this one it may lack everything. What is stored again is
          // the same row.
          const beyond = offset !== undefined && known !== undefined && offset > known.end;
          if (beyond) {
            onReset("truncated");
            log.error(
              { topic, partition, stored: offset, end: known.end },
              "stored beyond the end of the log: reading it whole",
            );
          }
          const from = Math.max(beyond ? 0 : (offset ?? 0), known?.beginning ?? 0);
          progress.set(`${topic}/${partition}`, {
            ...{ topic, partition, handed: from, next: from, stored: from },
            origin: originOf(topic),
            committed: known?.offset ?? 0,
          });
          consumer.seek({ topic, partition }, from);
        }
        consumer.resume(partitions);
        return;
      } catch (error) {
        log.warn({ err: error }, "can't tell where to go on yet");
        await sleep(waits.next());
      }
    }
  };

  /** As after a join: everything is asked for again. */
  const readAgain = (handlers: SinkHandlers): void => {
    consumer.pause(assigned);
    progress = new Map();
    void adopt(++joins, assigned, handlers);
  };

  /** A recreated topic may have grown past our position already: then no fetch reports it. */
  const compare = async (handlers: SinkHandlers): Promise<void> => {
    const held = [...progress.values()];
    const join = joins;
    if (held.length === 0) return;
    const now = await consumer.origins([...new Set(held.map(({ topic }) => topic))]);
    if (join !== joins) return;
    const others = held.filter(({ topic, origin }) => !sameOrigin(origin, now.get(topic) ?? unknownOrigin));
    if (others.length === 0) return;
    log.error(
      { partitions: others.map(({ topic, partition }) => `${topic}/${partition}`) },
      "the topic was made anew while it was read",
    );
    readAgain(handlers);
  };

  return {
    run(handlers) {
      settling ??= setInterval(settle, settleMs);
      comparing ??= setInterval(() => {
        compare(handlers).catch((error: unknown) => log.debug({ err: error }, "topics can't be compared now"));
      }, compareMs);
      return consumer.run({
        onJoin(_member, partitions) {
          assigned = partitions;
          progress = new Map();
          assigned = partitions;
          void adopt(++joins, partitions, handlers);
        },
        async onBatch(topic, partition, records, { next }, isStale) {
          const reached = progressOf(topic, partition);
          if (reached !== undefined) {
            reached.handed = Math.max(reached.handed, (records.at(-1)?.offset ?? -1) + 1);
            reached.next = Math.max(reached.next, next);
          }
          await handlers.onRecords(topic, partition, records, isStale);
        },
        onOutOfRange() {
          readAgain(handlers);
        },
        onMarkers(topic, partition, first, next) {
          const reached = progressOf(topic, partition);
          if (reached !== undefined && first <= reached.next) reached.next = Math.max(reached.next, next);
        },
        onHighWatermark: (topic, partition, offset) => handlers.onHighWatermark?.(topic, partition, offset),
      });
    },
    async commit(stored) {
      // The new owner commits the position of a partition that was revoked meanwhile.
      const positions = stored.filter(({ topic, partition }) => progressOf(topic, partition) !== undefined);
      // They are stored in any case; a failed commit is settled later.
      for (const { topic, partition, offset } of positions) {
        const reached = progressOf(topic, partition);
        if (reached !== undefined) reached.stored = Math.max(reached.stored, offset);
      }
      await tell(positions);
    },
    assigned: () => assigned,
    origin: (topic, partition) => progressOf(topic, partition)?.origin ?? unknownOrigin,
    progress(topic, partition) {
      const reached = progressOf(topic, partition);
      if (reached === undefined) return undefined;
      const { stored, handed, next } = reached;
      // Behind the last record that is stored there may be control markers alone.
      const committed = stored >= handed ? Math.max(stored, next) : stored;
      return { committed, next, finished: 0, uncommitted: handed - stored, running: 0, unstarted: 0 };
    },
    async stop() {
      joins++;
      clearInterval(settling);
      clearInterval(comparing);
      await consumer.stop();
    },
  };
}
