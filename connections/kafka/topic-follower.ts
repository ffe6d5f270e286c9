// Follows a chosen set of a topic's partitions, each from a given offset, outside any shared group.
// Partitions can be added and removed while it runs. It is the only member of its own group, so it
// owns all partitions and pauses those that are not followed. "Caught up" is determined by
// positions, not by records: a batch of control markers is never delivered, but its end is
// reported.
import type { Admin, EachBatchPayload, Kafka as KafkaClient } from "kafkajs";
import type { Logger } from "pino";
import { sameOrigin, unknownOrigin, type Origin } from "../../algorithms/identity/origin.ts";
import { toRawRecord } from "./messages.ts";
import { createFollowed, type FollowTimings } from "./followed.ts";
import type {
  FollowHandlers,
  PartitionEnds,
  RawRecord,
  StuckPartition,
  TopicFollower,
  UnreadableBatch,
} from "./port.ts";
import { createReader, reviving } from "./reader.ts";
import { untilReachable } from "./retry.ts";
import { within } from "./within.ts";

export interface ReaderOptions {
  client: KafkaClient;
  admin: () => Promise<Admin>;
  topic: string;
  /** Ends of a topic's partitions; rejects while a leader is away. */
  ends: (topic: string) => Promise<PartitionEnds[]>;
  /** Called at the begin with a function that lists stuck partitions; returns its end. */
  watched?: (stuck: () => StuckPartition[]) => () => void;
  /** What has the topics' names now; rejects while a broker is away. */
  origins?: (topics: readonly string[]) => Promise<ReadonlyMap<string, Origin>>;
  /** Called for each batch that can't be read and is passed. */
  onUnreadable?: ((batch: UnreadableBatch) => void) | undefined;
  /** A first look that the broker refuses rejects. */
  endsOnRefusal?: boolean | undefined;
  log: Logger;
  timings?: Partial<FollowTimings>;
}

const disconnectMs = 3_000;
/** How often the topic is compared with what it was. */
const compareMs = 5_000;

export function followTopic(options: ReaderOptions, handlers: FollowHandlers): TopicFollower {
  const { topic, log, timings } = options;
  const consumer = createReader(options.client, topic);
  let assigned: readonly number[] = [];
  let origin = unknownOrigin;
  let stopped = false;
  const retrying = { log, topic, stopped: () => stopped };
  const { followed, news, fetched, busy, settle, reach, stuck, stop } = createFollowed({
    topic,
    ends: () => options.ends(topic),
    // What is not ours at present was not asked for, whatever the fetches of the others brought.
    isOurs: (partition) => assigned.includes(partition),
    log,
    ...(timings === undefined ? {} : { timings }),
  });
  const forgetMe = options.watched?.(stuck);

  /** Between a crash and the restart kafkajs throws; the next join seeks and resumes. */
  const ifRunning = (action: () => void): void => {
    try {
      action();
    } catch (error) {
      log.debug({ err: error, topic }, "the reader does not run");
    }
  };
  consumer.on(consumer.events.FETCH, fetched);
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    const state = followed.get(payload.partition);
    // The handler of a batch with records has reported them; this event could belong to a former
    // position.
    if (state === undefined || payload.batchSize > 0) return;
    if (Number(payload.firstOffset ?? payload.lastOffset) <= state.position)
      reach(state, Number(payload.lastOffset) + 1);
  });
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    assigned = payload.memberAssignment[topic] ?? [];
    consumer.pause([{ topic, partitions: [...assigned] }]);
    for (const partition of followed.keys()) begin(partition);
    compareOnce();
  });

  /**
   * A topic that was made anew may have grown past our position until the next fetch, and then none
   * reports it. At a join, where a deleted topic ends the membership, and now and then: it may be
   * deleted and made anew between two fetches.
   */
  const compare = async (): Promise<void> => {
    const { origins } = options;
    if (origins === undefined) return;
    const found = await untilReachable(() => origins([topic]), retrying);
    const current = found?.get(topic) ?? unknownOrigin;
    const isAnother = !sameOrigin(origin, current);
    if (current.topicId !== "") origin = current;
    if (!isAnother || stopped) return;
    log.error({ topic }, "the topic was made anew: it is read from its beginning");
    for (const partition of [...followed.keys()]) {
      await handlers.onRewound?.(partition);
      follow(partition, 0);
    }
  };

  let comparing = false;
  const compareOnce = (): void => {
    if (comparing) return;
    comparing = true;
    compare()
      .catch((error: unknown) => log.debug({ err: error, topic }, "the topic can't be compared now"))
      .finally(() => (comparing = false));
  };
  const comparer = setInterval(compareOnce, compareMs).unref();

  const begin = (partition: number): void => {
    const state = followed.get(partition);
    if (state === undefined || !assigned.includes(partition)) return;
    news(state);
    consumer.seek({ topic, partition, offset: String(state.position) });
    consumer.resume([{ topic, partitions: [partition] }]);
  };

  /** What can't be read is passed: who holds state must go on with what can. */
  const readable = (records: RawRecord[], partition: number): RawRecord[] => {
    for (const { offset, unreadable } of records) {
      if (unreadable === undefined) continue;
      log.error({ topic, partition, last: offset, ...unreadable }, "a batch can't be read and is passed");
      options.onUnreadable?.({ topic, code: unreadable.code });
    }
    return records.filter(({ unreadable }) => unreadable === undefined);
  };

  const start = async (): Promise<void> => {
    await untilReachable(() => consumer.connect(), retrying);
    if (stopped) return;
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch, isStale: sought, heartbeat }: EachBatchPayload) => {
        const { partition } = batch;
        const state = followed.get(partition);
        const isStale = (): boolean => stopped || sought() || followed.get(partition) !== state;
        if (state === undefined || isStale()) return;
        // Not in kafkajs' types.
        const { fetchedOffset } = batch as EachBatchPayload["batch"] & { fetchedOffset: string };
        const next = Number(batch.lastOffset()) + 1;
        const done = busy(state);
        const beat = setInterval(() => void heartbeat().catch(() => undefined), 3_000);
        try {
          if (Number(fetchedOffset) < state.position) {
            // The broker did not know our offset: the topic was recreated, so reading starts at 0.
            state.position = 0;
            await handlers.onRewound?.(partition);
          }
          await handlers.onRecords(readable(batch.messages.map(toRawRecord), partition), { partition, next, isStale });
          if (!isStale()) reach(state, next);
        } finally {
          clearInterval(beat);
          done();
        }
      },
    });
  };
  reviving(consumer, start, () => stopped, log);
  start().catch((error: unknown) => {
    if (!stopped) log.error({ err: error, topic }, "a reader can't start");
  });

  const unfollow = (partition: number): void => {
    const state = followed.get(partition);
    if (state === undefined) return;
    followed.delete(partition);
    settle(state, true);
    ifRunning(() => consumer.pause([{ topic, partitions: [partition] }]));
  };

  const follow = (partition: number, from: number): void => {
    unfollow(partition);
    followed.set(partition, { position: from, waiting: [], newsAt: Date.now() });
    ifRunning(() => begin(partition));
  };

  return {
    follow,
    unfollow,
    position: (partition) => followed.get(partition)?.position,
    async caughtUp(partition) {
      const state = followed.get(partition);
      if (state === undefined) return;
      const isOver = (): boolean => stopped || followed.get(partition) !== state;
      const ends = await untilReachable(() => options.ends(topic), { log, topic, stopped: isOver });
      // The high watermark: what is behind an open transaction was acknowledged, too, and is to be
      // read once that one ends.
      const end = ends?.find((one) => one.partition === partition)?.high ?? 0;
      if (isOver() || state.position >= end) return;
      await new Promise<void>((resolve) => state.waiting.push({ end, resolve }));
    },
    async stop() {
      stopped = true;
      clearInterval(comparer);
      stop();
      forgetMe?.();
      for (const partition of [...followed.keys()]) unfollow(partition);
      await within(disconnectMs, consumer.disconnect());
    },
  };
}
