// Kafka behind the port: one client and one admin connection, the rest on demand.
import type { Admin } from "kafkajs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Config } from "../../config/schema.ts";
import { splitOrigin } from "../../algorithms/identity/origin.ts";
import { lazily } from "../lazily.ts";
import { createKafkaClient } from "./client.ts";
import { durabilityOf, readDurability } from "./durability.ts";
import { createGroupConsumer } from "./group-consumer.ts";
import { openCluster } from "./kafkajs-cluster.ts";
import { unstableOffset } from "./kafkajs-fencing.ts";
import { endHanging, findHanging } from "./hanging.ts";
import { brokerLevels, describeAffected } from "./lost-markers.ts";
import { createLogs } from "./logs.ts";
import { groupByTopic } from "./messages.ts";
import { createPartitioner, partitionOf } from "./partitioner.ts";
import type { Kafka, PartitionEnds, PlainProducer, StuckPartition, UnreadableBatch } from "./port.ts";
import { createSweep } from "./sweep.ts";
import { followTopic, type ReaderOptions } from "./topic-follower.ts";
import type { Holders } from "./rivals.ts";
import { topicEnds } from "./topic-ends.ts";
import { readTopic, tailTopic } from "./topic-reader.ts";
import { ensureTopics } from "./topics.ts";
import { createTransactionalProducer } from "./transactional-producer.ts";
import { createTransactions } from "./transactions.ts";
import { within } from "./within.ts";
import { createWire } from "./wire.ts";

export interface KafkaOptions {
  brokers: readonly string[];
  clientId: string;
  config: Config["kafka"];
  /** Who this process is; members of its groups tell it. */
  holders?: Holders;
  /** Milliseconds that an answer may be kept at most (topics.ts). */
  cacheTtlMs?: number;
  /** Whether a topic that we may not read is an error, not waited for. */
  endsOnRefusal?: boolean | undefined;
  /** Called for each batch that a reader has passed because it can't be read. */
  onUnreadable?: (batch: UnreadableBatch) => void;
  log: Logger;
}

const disconnectMs = 2_000;
const stableLooks = { most: 100, everyMs: 10 };

export function createKafka(options: KafkaOptions): Kafka {
  const { brokers, clientId, config, holders, cacheTtlMs, onUnreadable, endsOnRefusal, log } = options;
  const client = createKafkaClient({ brokers, clientId, config, log });
  const logs = createLogs(client);
  const { get: admin, opened: openedAdmin } = lazily(async (): Promise<Admin> => {
    const made = client.admin();
    await made.connect();
    return made;
  });

  const cluster = openCluster(client);
  const ends = (topic: string): Promise<PartitionEnds[]> => topicEnds(cluster, topic);
  const followers = new Set<() => StuckPartition[]>();
  const watched = (stuck: () => StuckPartition[]): (() => void) => {
    followers.add(stuck);
    return () => void followers.delete(stuck);
  };
  const readerOf = (topic: string): ReaderOptions => ({
    ...{ client, admin, topic, ends, watched, onUnreadable, endsOnRefusal, log },
    origins: (topics) => logs.origins(topics),
  });
  const wire = createWire(client);
  const transactions = createTransactions(wire);

  return {
    groupConsumer: (options) => createGroupConsumer({ client, admin, logs, holders, log, ...options }),
    transactionalProducer: (transactionalId, reach) =>
      createTransactionalProducer(client, {
        transactionalId,
        transactionTimeoutMs: config.transactionTimeoutMs,
        sweep: reach && createSweep({ transactions, transactionalId, reach, log }),
      }),
    plainProducer: () => createPlainProducer(),
    readTopic: (topic, onRecords) => readTopic(readerOf(topic), onRecords),
    followTopic: (topic, handlers) => followTopic(readerOf(topic), handlers),
    async spans(topic) {
      const offsets = await (await admin()).fetchTopicOffsets(topic);
      return offsets
        .map(({ partition, low, high }) => ({ partition, beginning: Number(low), end: Number(high) }))
        .sort((one, other) => one.partition - other.partition);
    },
    partitionOf: (key, partitions) => partitionOf(key, partitions),
    origins: (topics) => logs.origins(topics),
    clusterId: async () => (await (await admin()).describeCluster()).clusterId,
    tailTopic: (topic, onRecord) => tailTopic(readerOf(topic), onRecord),
    async ensureTopics(owners) {
      const connected = await admin();
      // A broker that is too old for exactly-once is refused here, not when the first partition is
      // to be adopted.
      await connected.fetchOffsets({ groupId: `${config.prefix}version-check`, topics: [] });
      const to = { admin: connected, open: () => createLogs(client) };
      await ensureTopics(to, { ...config, ...(cacheTtlMs !== undefined && { cacheTtlMs }) }, owners, log);
    },
    topics: async () => (await admin()).listTopics(),
    async durability(topics) {
      const connected = await admin();
      const { brokers: all } = await connected.describeCluster();
      return { wanted: durabilityOf(config, all.length), found: await readDurability(connected, topics) };
    },
    async lag(group, topic) {
      const connected = await admin();
      const [ends, committed] = await Promise.all([
        connected.fetchTopicOffsets(topic),
        committedOffsets(connected, group, topic),
      ]);
      return ends.map(({ partition, high }) => {
        const { offset, metadata } = committed.get(partition) ?? { offset: -1, metadata: "" };
        return { partition, end: Number(high), committed: offset < 0 ? undefined : offset, metadata };
      });
    },
    hangingTransactions: (search) => findHanging(transactions, search),
    endTransactions: (hanging) => endHanging(transactions, hanging),
    groups: async () => (await (await admin()).listGroups()).groups.map(({ groupId }) => groupId),
    async members(group) {
      const connected = await admin();
      const { groups } = await connected.describeGroups([group]);
      return groups.reduce((sum, { members }) => sum + members.length, 0);
    },
    ends,
    stuck: () => [...followers].flatMap((stuck) => stuck()),
    brokerProblem: async () => describeAffected(await brokerLevels(cluster)),
    async close() {
      await logs.close();
      const made = await openedAdmin()?.catch(() => undefined);
      await within(disconnectMs, Promise.all([cluster.close(), wire.close(), made?.disconnect()]));
    },
  };

  /** Committed offsets without transactions open on them; busy groups need several attempts. */
  async function committedOffsets(
    connected: Admin,
    group: string,
    topic: string,
  ): Promise<Map<number, { offset: number; metadata: string }>> {
    const stable = new Map<number, { offset: number; metadata: string }>();
    for (let look = 0; look < stableLooks.most; look++) {
      const [found] = await connected.fetchOffsets({ groupId: group, topics: [topic] });
      for (const { partition, offset, metadata } of found?.partitions ?? [])
        if (offset !== unstableOffset)
          stable.set(partition, { offset: Number(offset), metadata: splitOrigin(metadata ?? "").metadata });
      if (found?.partitions.every(({ partition }) => stable.has(partition)) ?? true) return stable;
      await sleep(stableLooks.everyMs);
    }
    throw new Error(`group ${group} has transactions open on ${topic} for longer than expected`);
  }

  function createPlainProducer(): PlainProducer {
    const producer = client.producer({ createPartitioner, allowAutoTopicCreation: false, idempotent: false });
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
      close: () => within(disconnectMs, producer.disconnect()),
    };
  }
}
