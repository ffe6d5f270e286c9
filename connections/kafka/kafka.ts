// Kafka behind the port: one client and one admin connection a process, everything else made on demand and closed together.
import type { Admin } from "kafkajs";
import type { Logger } from "pino";
import type { Config } from "../../config/schema.ts";
import { createKafkaClient } from "./client.ts";
import { createGroupConsumer } from "./group-consumer.ts";
import { groupByTopic } from "./messages.ts";
import type { Kafka, PlainProducer } from "./port.ts";
import { readTopic, tailTopic } from "./topic-reader.ts";
import { ensureTopics } from "./topics.ts";
import { createTransactionalProducer } from "./transactional-producer.ts";

export interface KafkaOptions {
  brokers: readonly string[];
  clientId: string;
  config: Config["kafka"];
  log: Logger;
}

export function createKafka({ brokers, clientId, config, log }: KafkaOptions): Kafka {
  const client = createKafkaClient({ brokers, clientId, config, log });
  let connecting: Promise<Admin> | undefined;
  const admin = (): Promise<Admin> => {
    connecting ??= (async () => {
      const made = client.admin();
      await made.connect();
      return made;
    })().catch((error: unknown) => {
      connecting = undefined; // the next call tries again
      throw error;
    });
    return connecting;
  };

  return {
    groupConsumer: (options) => createGroupConsumer({ client, admin, log, ...options }),
    transactionalProducer: (transactionalId) => createTransactionalProducer(client, transactionalId),
    plainProducer: () => createPlainProducer(),
    readTopic: (topic, onRecords) => readTopic({ client, admin, topic, log }, onRecords),
    tailTopic: (topic, onRecord) => tailTopic({ client, admin, topic, log }, onRecord),
    ensureTopics: async (arms) => ensureTopics(await admin(), config, arms, log),
    async lag(group, topic) {
      const connected = await admin();
      const [ends, committed] = await Promise.all([
        connected.fetchTopicOffsets(topic),
        connected.fetchOffsets({ groupId: group, topics: [topic] }),
      ]);
      return ends.map(({ partition, high }) => {
        const entry = committed[0]?.partitions.find((p) => p.partition === partition);
        const offset = Number(entry?.offset ?? -1);
        return {
          partition,
          end: Number(high),
          committed: offset < 0 ? undefined : offset,
          metadata: entry?.metadata ?? "",
        };
      });
    },
    async close() {
      const made = await connecting?.catch(() => undefined);
      await made?.disconnect();
    },
  };

  function createPlainProducer(): PlainProducer {
    const producer = client.producer({ allowAutoTopicCreation: false, idempotent: false });
    let connected: Promise<void> | undefined;
    return {
      async send(messages) {
        connected ??= producer.connect().catch((error: unknown) => {
          connected = undefined;
          throw error;
        });
        await connected;
        await producer.sendBatch({ acks: -1, topicMessages: groupByTopic(messages) });
      },
      close: () => producer.disconnect(),
    };
  }
}
