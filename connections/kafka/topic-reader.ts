// Reads a topic outside any group that matters: whole from the beginning (a table of a compacted topic), or from now on.
// "Caught up" is judged by positions, not by records: a batch of control markers is never delivered, but its end is reported.
import { randomUUID } from "node:crypto";
import type { Admin, Consumer, Kafka as KafkaClient } from "kafkajs";
import type { Logger } from "pino";
import { toRawRecord } from "./messages.ts";
import type { RawRecord, TopicReader } from "./port.ts";
import { untilReachable } from "./retry.ts";
import { within } from "./within.ts";

interface ReaderOptions {
  client: KafkaClient;
  admin: () => Promise<Admin>;
  topic: string;
  log: Logger;
}

/** A tail that compaction emptied is never reported: after this long without news it counts as read. */
const quietMs = 10_000;
const disconnectMs = 3_000;
const restartMs = 500;

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

function createReader({ client, topic }: ReaderOptions): Consumer {
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

export function readTopic(
  options: ReaderOptions,
  onRecords: (records: RawRecord[], partition: number) => void | Promise<void>,
): TopicReader {
  const { admin, topic, log } = options;
  const consumer = createReader(options);
  const missing = new Map<number, number>(); // partition -> end offset at the start
  let stopped = false;
  let quiet: NodeJS.Timeout | undefined;

  const caughtUp = new Promise<void>((resolve, reject) => {
    const check = (): void => {
      clearTimeout(quiet);
      if (missing.size === 0) return resolve();
      quiet = setTimeout(() => {
        log.warn(
          { topic, partitions: [...missing.keys()] },
          "nothing more came: the rest of the topic is taken as compacted away",
        );
        resolve();
      }, quietMs);
    };
    const begin = async (): Promise<void> => {
      const offsets = await untilReachable(
        () => admin().then((connected) => connected.fetchTopicOffsets(topic)),
        log,
        () => stopped,
      );
      for (const { partition, low, high } of offsets ?? [])
        if (Number(low) < Number(high)) missing.set(partition, Number(high));
      consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
        const end = missing.get(payload.partition);
        if (end === undefined) return;
        if (Number(payload.lastOffset) + 1 >= end) missing.delete(payload.partition);
        check();
      });
      const start = async (): Promise<void> => {
        await untilReachable(
          () => consumer.connect(),
          log,
          () => stopped,
        );
        await consumer.subscribe({ topic, fromBeginning: true });
        await consumer.run({
          autoCommit: false,
          eachBatch: async ({ batch }) => {
            await onRecords(batch.messages.map(toRawRecord), batch.partition);
          },
        });
      };
      reviving(consumer, start, () => stopped, log);
      await start();
      check();
    };
    begin().catch(reject);
  });
  return {
    caughtUp,
    async stop() {
      stopped = true;
      clearTimeout(quiet);
      await within(disconnectMs, consumer.disconnect());
    },
  };
}

export async function tailTopic(
  options: ReaderOptions,
  onRecord: (record: RawRecord, partition: number) => void,
): Promise<{ stop(): Promise<void> }> {
  const { admin, topic, log } = options;
  const consumer = createReader(options);
  const ends = (await untilReachable(() => admin().then((connected) => connected.fetchTopicOffsets(topic)), log)) ?? [];
  const positions = new Map(ends.map(({ partition, high }) => [partition, Number(high)]));
  let stopped = false;
  const start = async (): Promise<void> => {
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: false });
    await consumer.run({
      autoCommit: false,
      eachBatch: ({ batch }) => {
        for (const message of batch.messages) onRecord(toRawRecord(message), batch.partition);
        positions.set(batch.partition, Number(batch.lastOffset()) + 1);
        return Promise.resolve();
      },
    });
  };
  reviving(consumer, start, () => stopped, log);
  await new Promise<void>((resolve, reject) => {
    consumer.on(consumer.events.GROUP_JOIN, () => {
      // Where the topic ended when we began, or where we were when the group had to be joined again.
      for (const [partition, offset] of positions) consumer.seek({ topic, partition, offset: String(offset) });
      resolve();
    });
    start().catch(reject);
  });
  return {
    async stop() {
      stopped = true;
      await within(disconnectMs, consumer.disconnect());
    },
  };
}
