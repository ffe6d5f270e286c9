// The input of a sink that keeps its positions where its rows are: on every join it asks where to go on, seeks there and only
// then lets records through. Commits to Kafka are for the eyes of lag monitors alone.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { GroupConsumer, RawRecord, TopicPartition } from "./port.ts";

export interface SinkPosition extends TopicPartition {
  /** undefined: the earliest that the broker has. */
  offset: number | undefined;
}

export interface SinkHandlers {
  /** Asked on every join, for all partitions held; rejects to be asked again. */
  onAssigned(partitions: readonly TopicPartition[]): Promise<readonly SinkPosition[]>;
  /** Awaited: backpressure. Must return soon once isStale(): the partition may be somebody else's. */
  onRecords(topic: string, partition: number, records: readonly RawRecord[], isStale: () => boolean): Promise<void>;
  onLag?(topic: string, partition: number, records: number): void;
}

export interface SinkSource {
  run(handlers: SinkHandlers): Promise<void>;
  commit(positions: readonly (TopicPartition & { offset: number })[]): Promise<void>;
  stop(): Promise<void>;
}

export function createSinkSource(consumer: GroupConsumer, log: Logger): SinkSource {
  let joins = 0;

  const adopt = async (join: number, partitions: readonly TopicPartition[], handlers: SinkHandlers): Promise<void> => {
    for (let wait = 100; join === joins; wait = Math.min(2 * wait, 5_000)) {
      try {
        const [positions, kafka] = await Promise.all([handlers.onAssigned(partitions), consumer.committed(partitions)]);
        if (join !== joins) return;
        for (const { topic, partition, offset } of positions) {
          const beginning = kafka.find((p) => p.topic === topic && p.partition === partition)?.beginning ?? 0;
          consumer.seek({ topic, partition }, Math.max(offset ?? beginning, beginning));
        }
        consumer.resume(partitions);
        return;
      } catch (error) {
        log.warn({ err: error }, "can't tell where to go on yet");
        await sleep(wait);
      }
    }
  };

  return {
    run: (handlers) =>
      consumer.run({
        onJoin(_member, partitions) {
          void adopt(++joins, partitions, handlers);
        },
        onBatch: (topic, partition, records, _next, isStale) => handlers.onRecords(topic, partition, records, isStale),
        ...(handlers.onLag === undefined ? {} : { onLag: handlers.onLag.bind(handlers) }),
      }),
    commit: (positions) => consumer.commit(positions),
    async stop() {
      joins++;
      await consumer.stop();
    },
  };
}
