// A group member that reads committed records and never commits by itself. Every join pauses all
// partitions and notifies the runtime synchronously of its partitions; the runtime seeks and
// resumes them. It rejoins by itself after any error.
import { randomUUID } from "node:crypto";
import type { Admin, Consumer, EachBatchPayload, Kafka as KafkaClient } from "kafkajs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { rarely } from "../../algorithms/queueing/rarely.ts";
import { createAssigner } from "./assigner.ts";
import { createHeartbeats } from "./heartbeats.ts";
import { forgetMember, generationOf } from "./kafkajs-fencing.ts";
import { forgetOutOfRange, listenOutOfRange } from "./kafkajs-out-of-range.ts";
import { warnMs } from "./retry.ts";
import { rivalsOf, type Holders } from "./rivals.ts";
import type { Logs } from "./logs.ts";
import { toRawRecord, partitionsByTopic } from "./messages.ts";
import { readPositions } from "./positions.ts";
import { within } from "./within.ts";
import type { FetchWait, GroupConsumer, GroupHandlers, Positions, TopicPartition } from "./port.ts";

export interface GroupConsumerOptions {
  client: KafkaClient;
  logs: Logs;
  /** Absent: members do not report their processes, and all count as alive. */
  holders?: Holders | undefined;
  /** Connected when it resolves; shared by the process. */
  admin: () => Promise<Admin>;
  group: string;
  topics: readonly string[];
  instance: string;
  sessionTimeoutMs: number;
  fetch?: FetchWait;
  log: Logger;
}

const restartMs = 500;
const lowLatency: FetchWait = { minBytes: 1, maxWaitMs: 100 };
const leaveMs = 3_000;

export function createGroupConsumer(options: GroupConsumerOptions): GroupConsumer {
  const { client, admin, logs, group, topics, instance, sessionTimeoutMs, fetch = lowLatency, log } = options;
  const { holders } = options;
  const life = randomUUID();
  const heartbeatMs = Math.min(3_000, Math.floor(sessionTimeoutMs / 6));
  const beatDuring = createHeartbeats(heartbeatMs);
  let owned: TopicPartition[] = [];
  let memberId: string | undefined;
  let stopped = false;
  let endRun: () => void = () => undefined;
  const consumer: Consumer = client.consumer({
    groupId: group,
    sessionTimeout: sessionTimeoutMs,
    rebalanceTimeout: Math.max(sessionTimeoutMs, 10_000),
    heartbeatInterval: heartbeatMs,
    minBytes: fetch.minBytes,
    maxWaitTimeInMs: fetch.maxWaitMs,
    maxBytesPerPartition: 512 * 1024,
    allowAutoTopicCreation: false,
    partitionAssigners: [
      createAssigner(instance, () => [...new Set(owned.map(({ partition }) => partition))], {
        life,
        ...(holders === undefined ? {} : { holder: holders.mine }),
      }),
    ],
    retry: {
      initialRetryTime: 50,
      maxRetryTime: 1_000,
      factor: 0.2,
      multiplier: 1.5,
      retries: 20,
      restartOnFailure: () => Promise.resolve(!stopped),
    },
  });

  /** Between a crash and the restart kafkajs throws; the next join pauses everything. */
  const ifRunning = (action: () => void): void => {
    try {
      action();
    } catch (error) {
      log.debug({ err: error, group }, "the consumer does not run");
    }
  };

  const forget = (former: string): void => {
    forgetMember(former);
    forgetOutOfRange(former);
  };

  const start = async (handlers: GroupHandlers): Promise<void> => {
    const due = rarely(warnMs, () => performance.now());
    for (;;) {
      try {
        await consumer.connect();
        await consumer.subscribe({ topics: [...topics], fromBeginning: true });
        break;
      } catch (error) {
        log[due() ? "warn" : "debug"]({ err: error, group }, "can't reach Kafka, trying again");
        await sleep(restartMs);
        if (stopped) return;
      }
    }
    await launch(handlers);
  };

  const launch = (handlers: GroupHandlers): Promise<void> =>
    consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: true,
      partitionsConsumedConcurrently: 4,
      eachBatch: async ({ batch, isStale: sought, heartbeat }) => {
        if (sought()) return;
        // A handler that waits (for ClickHouse, say) must not cost the membership; when the broker
        // asks for a rejoin, the handler has to let go.
        let rejoin = false;
        const isStale = (): boolean => rejoin || stopped || sought();
        const beat = (): void => void heartbeat().catch(() => (rejoin = true));
        const records = batch.messages.map(toRawRecord);
        // Not in kafkajs' types; records below it are left out of messages.
        const { fetchedOffset } = batch as EachBatchPayload["batch"] & { fetchedOffset: string };
        const span = { from: Number(fetchedOffset), next: Number(batch.lastOffset()) + 1 };
        await beatDuring(beat, handlers.onBatch(batch.topic, batch.partition, records, span, isStale));
      },
    });

  const committedNow = (partitions: readonly TopicPartition[]): Promise<Positions> =>
    readPositions({ admin, logs, group }, partitions);

  return {
    run(handlers) {
      const joined = new Promise<void>((resolve) => {
        endRun = resolve;
        consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
          // kafkajs can't be stopped while it joins; an error here ends the join.
          if (stopped) throw new Error("the consumer was stopped");
          if (memberId !== undefined && memberId !== payload.memberId) forget(memberId);
          memberId = payload.memberId;
          if (handlers.onOutOfRange !== undefined) listenOutOfRange(memberId, handlers.onOutOfRange.bind(handlers));
          owned = Object.entries(payload.memberAssignment).flatMap(([topic, partitions]) =>
            partitions.map((partition) => ({ topic, partition })),
          );
          consumer.pause(partitionsByTopic(owned));
          handlers.onJoin({ id: payload.memberId, generation: generationOf(payload.memberId) ?? -1 }, [...owned]);
          resolve();
        });
      });
      consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
        const { topic, partition, batchSize, firstOffset, lastOffset, highWatermark } = payload;
        const next = Number(lastOffset) + 1;
        // Without a first offset compaction has removed what was asked for: that one offset is
        // passed.
        if (batchSize === 0) handlers.onMarkers?.(topic, partition, Number(firstOffset ?? lastOffset), next);
        handlers.onHighWatermark?.(topic, partition, Number(highWatermark));
      });
      const startAgain = (): void =>
        void setTimeout(() => {
          if (stopped) return;
          start(handlers).catch((error: unknown) => {
            log.error({ err: error, group }, "the consumer can't start, trying again");
            startAgain();
          });
        }, restartMs);
      consumer.on(consumer.events.CRASH, ({ payload }) => {
        if (stopped || payload.restart) return;
        log.error({ err: payload.error, group }, "the consumer crashed, starting it again");
        startAgain();
      });
      return start(handlers).then(() => (stopped ? undefined : joined));
    },
    pause: (partitions) => {
      if (partitions.length > 0) ifRunning(() => consumer.pause(partitionsByTopic(partitions)));
    },
    resume: (partitions) => {
      if (partitions.length > 0) ifRunning(() => consumer.resume(partitionsByTopic(partitions)));
    },
    seek: ({ topic, partition }, offset) => consumer.seek({ topic, partition, offset: String(offset) }),

    committedNow,
    async committed(partitions) {
      const { known, waiting } = await committedNow(partitions);
      const [first] = waiting;
      if (first !== undefined) throw new Error(`no position of ${first.topic}-${first.partition} yet: ${first.why}`);
      return known;
    },
    rivals: async () => rivalsOf(await admin(), { group, instance, life, isDead: holders?.isDead ?? (() => false) }),
    origins: (names) => logs.origins(names),
    commit: (positions) => consumer.commitOffsets(positions.map((p) => ({ ...p, offset: String(p.offset) }))),
    async stop() {
      stopped = true;
      endRun();
      await within(
        leaveMs,
        consumer.disconnect().catch((error: unknown) => log.debug({ err: error }, "leaving the group failed")),
      );
      if (memberId !== undefined) forget(memberId);
    },
  };
}
