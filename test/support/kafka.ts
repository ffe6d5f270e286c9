// Kafka through our port for tests of the port itself: a client, topics of one test, and what a
// read-committed reader sees.
import type { Kafka as KafkaClient } from "kafkajs";
import { createKafkaClient } from "../../connections/kafka/client.ts";
import { createKafka } from "../../connections/kafka/kafka.ts";
import type {
  GroupConsumer,
  GroupMember,
  Kafka,
  OutgoingMessage,
  TopicPartition,
} from "../../connections/kafka/port.ts";
import { configSchema } from "../../config/schema.ts";
import { createLog } from "../../runtime/log.ts";
import { testStack, uniquePrefix } from "./stack.ts";

export interface TestKafka {
  kafka: Kafka;
  /** kafkajs itself, patched, for what the port does not offer. */
  client: KafkaClient;
  /** A new topic of the test. */
  topic(partitions?: number, config?: Record<string, string>): Promise<string>;
  /**
   * Keys that a read-committed reader sees from the beginning to the end that the topic has now.
   */
  keys(topic: string): Promise<string[]>;
  /** Joins a group and stays until stopped. */
  join(group: string, topic: string, instance?: string): Promise<Joined>;
  close(): Promise<void>;
}

export interface Joined {
  consumer: GroupConsumer;
  member: GroupMember;
  partitions: readonly TopicPartition[];
}

export const message = (topic: string, key: string, partition = 0, value = key): OutgoingMessage => ({
  topic,
  key,
  value: Buffer.from(value),
  partition,
});

/** On the shared stack, or on one of the test's own. */
export function createTestKafka(brokers: readonly string[] = testStack().brokers): TestKafka {
  const log = createLog({ level: "silent" });
  const config = configSchema.shape.kafka.parse({});
  const kafka = createKafka({ brokers, clientId: "delivery", config, log });
  const client = createKafkaClient({ brokers, clientId: "delivery", config, log });
  const prefix = uniquePrefix();
  const joined: GroupConsumer[] = [];
  let topics = 0;

  return {
    kafka,
    client,
    async topic(partitions = 1, settings = {}) {
      const name = `${prefix}${++topics}`;
      const admin = client.admin();
      await admin.connect();
      const configEntries = Object.entries(settings).map(([key, value]) => ({ name: key, value }));
      await admin.createTopics({
        waitForLeaders: true,
        topics: [{ topic: name, numPartitions: partitions, replicationFactor: 1, configEntries }],
      });
      await admin.disconnect();
      return name;
    },
    async keys(topic) {
      const places = new Map<string, string>();
      const reader = kafka.readTopic(topic, (records, partition) => {
        for (const { offset, key } of records) places.set(`${partition}/${offset}`, key?.toString() ?? "");
      });
      await reader.caughtUp;
      await reader.stop();
      return [...places.values()];
    },
    join(group, topic, instance = "one") {
      const consumer = kafka.groupConsumer({ group, topics: [topic], instance, sessionTimeoutMs: 6_000 });
      joined.push(consumer);
      return new Promise((resolve, reject) => {
        consumer
          .run({
            onJoin: (member, partitions) => {
              resolve({ consumer, member, partitions });
            },
            onBatch: () => undefined,
          })
          .catch(reject);
      });
    },
    async close() {
      await Promise.all(joined.map((consumer) => consumer.stop()));
      await kafka.close();
    },
  };
}
