// Queries to single brokers that kafkajs' admin client lacks, through a cluster object of our own,
// made by the client with its addresses, TLS and SASL. It connects at the first query, and
// reconnects after its connection was cut.
import type { Kafka as KafkaClient } from "kafkajs";
import { lazily } from "../lazily.ts";
import { internals, type BrokerLike, type QueryClusterLike, type RawRequest } from "./kafkajs-internals.ts";

export type Cluster = ReturnType<typeof openCluster>;

/** A request that kafkajs has no version for; its answer is what `response.parse` makes of it. */
export const ask = <T>(broker: BrokerLike, request: RawRequest<T>): Promise<T> => broker.connectionPool.send(request);

export function openCluster(client: KafkaClient) {
  const opening = lazily(async () => {
    const cluster = internals.createCluster(client);
    await cluster.connect();
    return cluster;
  });
  let closed = false;
  const connected = async (): Promise<QueryClusterLike> => {
    if (closed) throw new Error("the connection to Kafka was closed");
    return opening.get();
  };
  const brokerOf = (cluster: QueryClusterLike, nodeId: number | string): Promise<BrokerLike> =>
    cluster.findBroker({ nodeId: String(nodeId) });

  return {
    /** A topic's partitions grouped by leader, from fresh metadata. */
    async leaders(topic: string): Promise<{ broker: BrokerLike; partitions: number[] }[]> {
      const cluster = await connected();
      await cluster.addTargetTopic(topic);
      // Never from the cache: leaders and partitions change.
      await cluster.refreshMetadata();
      const partitions = cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId);
      if (partitions.length === 0) throw new Error(`the broker does not know the topic ${topic}`);
      return Promise.all(
        Object.entries(cluster.findLeaderForPartitions(topic, partitions)).map(async ([nodeId, ids]) => ({
          broker: await brokerOf(cluster, nodeId),
          partitions: ids,
        })),
      );
    },
    async brokers(): Promise<{ address: string; broker: BrokerLike }[]> {
      const cluster = await connected();
      await cluster.refreshMetadata();
      const known = cluster.brokerPool.metadata?.brokers ?? [];
      return Promise.all(
        known.map(async ({ nodeId, host, port }) => ({
          address: `${host}:${port}`,
          broker: await brokerOf(cluster, nodeId),
        })),
      );
    },
    async close(): Promise<void> {
      closed = true;
      const cluster = await opening.opened()?.catch(() => undefined);
      await cluster?.disconnect();
    },
  };
}
