// Follows a chosen set of a topic's partitions, each from a given offset, outside any group that matters; partitions come and go while it runs.
// It is the only member of a group of its own, so all partitions are its own: those that nobody follows are paused.
// "Caught up" is judged by positions, not by records: a batch of control markers is never delivered, but its end is reported.
import { randomUUID } from "node:crypto";
import type { Admin, Consumer, EachBatchPayload, Kafka as KafkaClient } from "kafkajs";
import type { Logger } from "pino";
import { toRawRecord } from "./messages.ts";
import type { FollowHandlers, TopicFollower } from "./port.ts";
import { untilReachable } from "./retry.ts";
import { within } from "./within.ts";

export interface ReaderOptions {
  client: KafkaClient;
  admin: () => Promise<Admin>;
  topic: string;
  log: Logger;
}

/** A tail that compaction emptied is never reported: after this long, and so many fetches that brought nothing, it counts as read. */
const quiet = { ms: 10_000, fetches: 20, lookMs: 500 };
const disconnectMs = 3_000;
const restartMs = 500;

function createReader({ client, topic }: Pick<ReaderOptions, "client" | "topic">): Consumer {
  return client.consumer({
    groupId: `reader.${topic}.${randomUUID()}`,
    maxWaitTimeInMs: 100,
    sessionTimeout: 30_000,
    allowAutoTopicCreation: false,
    retry: {
      initialRetryTime: 50,
      maxRetryTime: 1_000,
      retries: 1_000_000,
      restartOnFailure: () => Promise.resolve(true),
    },
  });
}

/** kafkajs gives a consumer up for good after some errors (a broker that comes back half, say): a table or a tail must not end with it. */
function reviving(consumer: Consumer, start: () => Promise<void>, stopped: () => boolean, log: Logger): void {
  const revive = (): void => {
    if (stopped()) return;
    start().catch((error: unknown) => {
      log.warn({ err: error }, "a reader can't start again yet");
      setTimeout(revive, restartMs);
    });
  };
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (stopped() || payload.restart) return;
    log.warn({ err: payload.error }, "a reader crashed, starting it again");
    setTimeout(revive, restartMs);
  });
}

interface Followed {
  /** Behind what was handed over, control markers included. */
  position: number;
  /** Resolved when the position is there, or nobody follows any more. */
  waiting: { end: number; resolve: () => void }[];
}

export function followTopic(options: ReaderOptions, handlers: FollowHandlers): TopicFollower {
  const { admin, topic, log } = options;
  const consumer = createReader(options);
  const followed = new Map<number, Followed>();
  let assigned: readonly number[] = [];
  let stopped = false;
  let handling = 0;
  let fetches = 0;
  let newsAt = Date.now();

  /** Between a crash and the restart kafkajs throws; the next join seeks and resumes what is to be followed then. */
  const ifRunning = (action: () => void): void => {
    try {
      action();
    } catch (error) {
      log.debug({ err: error, topic }, "the reader does not run");
    }
  };
  const news = (): void => {
    fetches = 0;
    newsAt = Date.now();
  };
  const settle = (state: Followed, partition: number, forsaken = false): void => {
    state.waiting = state.waiting.filter(({ end, resolve }) => {
      if (!forsaken && state.position < end) return true;
      resolve();
      return false;
    });
    if (forsaken) log.debug({ topic, partition }, "not waited for any more");
  };
  const reach = (state: Followed, partition: number, next: number): void => {
    news();
    state.position = Math.max(state.position, next);
    settle(state, partition);
  };
  const watch = setInterval(() => {
    if (handling > 0 || fetches < quiet.fetches || Date.now() - newsAt < quiet.ms) return;
    for (const [partition, state] of followed) {
      // What is not ours at present was not asked for, whatever the fetches of the others brought.
      if (state.waiting.length === 0 || !assigned.includes(partition)) continue;
      log.warn({ topic, partition }, "nothing more came: the rest of the partition is taken as compacted away");
      settle(state, partition, true);
    }
  }, quiet.lookMs);
  watch.unref();

  consumer.on(consumer.events.FETCH, () => {
    fetches++;
  });
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    const state = followed.get(payload.partition);
    // Of a batch with records its handler has said so already; what it says here could belong to a former position.
    if (state === undefined || payload.batchSize > 0) return;
    if (Number(payload.firstOffset ?? payload.lastOffset) <= state.position)
      reach(state, payload.partition, Number(payload.lastOffset) + 1);
  });
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    assigned = payload.memberAssignment[topic] ?? [];
    consumer.pause([{ topic, partitions: [...assigned] }]);
    for (const partition of followed.keys()) begin(partition);
  });

  const begin = (partition: number): void => {
    const state = followed.get(partition);
    if (state === undefined || !assigned.includes(partition)) return;
    news();
    consumer.seek({ topic, partition, offset: String(state.position) });
    consumer.resume([{ topic, partitions: [partition] }]);
  };

  const start = async (): Promise<void> => {
    await untilReachable(
      () => consumer.connect(),
      log,
      () => stopped,
    );
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
        handling++;
        const beat = setInterval(() => void heartbeat().catch(() => undefined), 3_000);
        try {
          if (Number(fetchedOffset) < state.position) {
            // The broker did not know our offset: the topic was made anew, and we begin with it.
            state.position = 0;
            await handlers.onRewound?.(partition);
          }
          await handlers.onRecords(batch.messages.map(toRawRecord), { partition, next, isStale });
          if (!isStale()) reach(state, partition, next);
        } finally {
          clearInterval(beat);
          handling--;
          news();
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
    settle(state, partition, true);
    ifRunning(() => consumer.pause([{ topic, partitions: [partition] }]));
  };

  return {
    follow(partition, from) {
      unfollow(partition);
      followed.set(partition, { position: from, waiting: [] });
      ifRunning(() => begin(partition));
    },
    unfollow,
    position: (partition) => followed.get(partition)?.position,
    async caughtUp(partition) {
      const state = followed.get(partition);
      if (state === undefined) return;
      const ends = await untilReachable(
        () => admin().then((connected) => connected.fetchTopicOffsets(topic)),
        log,
        () => stopped || followed.get(partition) !== state,
      );
      const end = Number(ends?.find((offsets) => offsets.partition === partition)?.high ?? 0);
      if (stopped || followed.get(partition) !== state || state.position >= end) return;
      await new Promise<void>((resolve) => state.waiting.push({ end, resolve }));
    },
    async stop() {
      stopped = true;
      clearInterval(watch);
      for (const partition of [...followed.keys()]) unfollow(partition);
      await within(disconnectMs, consumer.disconnect());
    },
  };
}
