// What the brokers have of topics: their origin (origin.ts), and where each partition begins and
// truly ends, records of open transactions included. An end that read-committed readers see may lie
// in front of what they have read before: after a power loss, when a transaction's marker is gone.
import type { Kafka as KafkaClient } from "kafkajs";
import { internals } from "./kafkajs-internals.ts";
import { metadata, metadataKey, metadataVersions, type TopicIds } from "./protocol/metadata.ts";
import { shortCluster, type Origin } from "../../algorithms/identity/origin.ts";
import { lazily } from "../lazily.ts";
import { within } from "./within.ts";

export interface TopicLog {
  origin: Origin;
  /** By partition. */
  spans: Map<number, { beginning: number; end: number }>;
}

export type Logs = ReturnType<typeof createLogs>;

interface Broker {
  versions: Record<number, { maxVersion: number }> | null;
  connectionPool: { send(protocol: unknown): Promise<unknown> };
  disconnect(): Promise<void>;
}
interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  addMultipleTargetTopics(topics: string[]): Promise<void>;
  refreshMetadata(): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
  metadata(options: { topics: string[] }): Promise<{ clusterId: string | null }>;
  findTopicPartitionMetadata(topic: string): { partitionId: number }[];
  fetchTopicsOffset(
    topics: { topic: string; fromBeginning: boolean; partitions: { partition: number }[] }[],
  ): Promise<{ topic: string; partitions: { partition: number; offset: string }[] }[]>;
  brokerPool: { withBroker<T>(use: (found: { broker: Broker }) => Promise<T>): Promise<T | null> };
}

const disconnectMs = 2_000;

export function createLogs(client: KafkaClient) {
  const { get: connected, opened } = lazily(async () => {
    const cluster = internals.createCluster(client) as unknown as Cluster;
    await cluster.connect();
    // Until then its pool holds no broker to ask, whatever it is connected to.
    await cluster.refreshMetadata();
    return cluster;
  });

  const originsOn = async (cluster: Cluster, topics: readonly string[]): Promise<Map<string, Origin>> => {
    const answer = await cluster.brokerPool.withBroker(async ({ broker }) => {
      const version = Math.min(metadataVersions.max, broker.versions?.[metadataKey]?.maxVersion ?? 0);
      if (version < metadataVersions.min) return undefined;
      try {
        return (await broker.connectionPool.send(metadata(topics, version))) as TopicIds;
      } catch (error) {
        // As kafkajs does it: the next request makes another connection.
        if ((error as Error).name === "KafkaJSConnectionClosedError") await broker.disconnect();
        throw error;
      }
    });
    const clusterId = answer?.clusterId ?? (await cluster.metadata({ topics: [...topics] })).clusterId ?? "";
    const ids = new Map(answer?.topics.map(({ topic, id }) => [topic, id]));
    return new Map(topics.map((topic) => [topic, { cluster: shortCluster(clusterId), topicId: ids.get(topic) ?? "" }]));
  };

  /** By topic and partition. */
  const offsets = async (
    cluster: Cluster,
    topics: readonly string[],
    fromBeginning: boolean,
  ): Promise<Map<string, Map<number, number>>> => {
    const found = await cluster.fetchTopicsOffset(
      topics.map((topic) => ({
        ...{ topic, fromBeginning },
        partitions: cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => ({ partition: partitionId })),
      })),
    );
    return new Map(
      found.map(({ topic, partitions }) => [topic, new Map(partitions.map((p) => [p.partition, Number(p.offset)]))]),
    );
  };

  return {
    /** Rejects while a broker is away. */
    async read(topics: readonly string[]): Promise<Map<string, TopicLog>> {
      const cluster = await connected();
      try {
        await cluster.addMultipleTargetTopics([...topics]);
        await cluster.refreshMetadataIfNecessary();
        const [origins, beginnings] = await Promise.all([originsOn(cluster, topics), offsets(cluster, topics, true)]);
        // The end last: it must not be older than the beginning.
        const ends = await offsets(cluster, topics, false);
        return new Map(
          topics.map((topic) => [
            topic,
            {
              origin: origins.get(topic) ?? { cluster: "", topicId: "" },
              spans: new Map(
                [...(ends.get(topic) ?? [])].map(([partition, end]) => [
                  partition,
                  { beginning: beginnings.get(topic)?.get(partition) ?? 0, end },
                ]),
              ),
            },
          ]),
        );
      } catch (error) {
        // Leaders may have moved, or a topic has other partitions now.
        await cluster.refreshMetadata().catch(() => undefined);
        throw error;
      }
    },
    origins: async (topics: readonly string[]): Promise<Map<string, Origin>> => originsOn(await connected(), topics),
    async close(): Promise<void> {
      const made = await opened()?.catch(() => undefined);
      if (made !== undefined) await within(disconnectMs, made.disconnect());
    },
  };
}
