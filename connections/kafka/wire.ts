// Requests to a chosen broker: a partition's leader, a coordinator, every broker. kafkajs chooses
// by itself, and reports no partition of a topic while one of them has no leader; here each answers
// for itself. Connections are opened on demand and kept.
import type { Kafka as KafkaClient } from "kafkajs";
import {
  clusterOf,
  coordinatorTypes,
  internals,
  type BrokerAddress,
  type AddressedBroker,
  type ConnectedCluster,
} from "./kafkajs-internals.ts";
import type { Protocol } from "./protocol/codec.ts";
import { sendTo } from "./send-to.ts";
import { within } from "./within.ts";

export interface PartitionLeader {
  topic: string;
  partition: number;
  /** undefined: it has none now. */
  leader: number | undefined;
}

export type Wire = ReturnType<typeof createWire>;

interface Metadata {
  brokers: BrokerAddress[];
  topicMetadata: {
    topic: string;
    partitionMetadata: { partitionErrorCode: number; partitionId: number; leader: number }[];
  }[];
}

/** The lowest with which topics are not made by asking; kafkajs has it. */
const metadataVersion = 5;
const disconnectMs = 2_000;

export function createWire(client: KafkaClient) {
  let cluster: ConnectedCluster | undefined;
  const brokers = new Map<number, { at: string; broker: Promise<AddressedBroker> }>();
  let addresses: readonly BrokerAddress[] = [];

  const seed = async (): Promise<AddressedBroker> => {
    cluster ??= clusterOf(client);
    await cluster.connect();
    const { seedBroker } = cluster.brokerPool;
    if (!seedBroker.isConnected()) await seedBroker.connect();
    return seedBroker;
  };

  const make = async ({ nodeId, host, port, rack }: BrokerAddress): Promise<AddressedBroker> => {
    cluster ??= clusterOf(client);
    const connectionPool = await cluster.connectionPoolBuilder.build({ host, port, rack: rack ?? null });
    return cluster.brokerPool.createBroker({ connectionPool, logger: cluster.rootLogger, nodeId });
  };

  const connected = async (address: BrokerAddress): Promise<AddressedBroker> => {
    const at = `${address.host}:${address.port}`;
    let known = brokers.get(address.nodeId);
    if (known?.at !== at) {
      known?.broker.then((former) => former.disconnect()).catch(() => undefined);
      known = { at, broker: make(address) };
      brokers.set(address.nodeId, known);
    }
    const broker = await known.broker;
    if (!broker.isConnected()) await broker.connect();
    return broker;
  };

  const metadata = async (topics: readonly string[]): Promise<Metadata> => {
    const ask = internals.requests<{ topics: readonly string[]; allowAutoTopicCreation: boolean }>("metadata");
    const { request, response } = ask.protocol({ version: metadataVersion })({
      topics,
      allowAutoTopicCreation: false,
    }) as Protocol<Metadata>;
    const answer = await sendTo(await seed(), {
      request,
      // kafkajs' own reading throws for the first topic or partition that has anything.
      response: { decode: response.decode, parse: (data) => Promise.resolve(data) },
      logResponseError: false,
    });
    addresses = answer.brokers;
    return answer;
  };

  const nodeAt = async (node: number): Promise<AddressedBroker> => {
    const address = addresses.find(({ nodeId }) => nodeId === node);
    if (address === undefined) throw new internals.ConnectionError(`broker ${node} is not in the cluster's metadata`);
    return connected(address);
  };

  return {
    /** Whether the brokers know all these requests. */
    async speaks(apiKeys: readonly number[]): Promise<boolean> {
      const { versions } = await seed();
      return apiKeys.every((key) => versions?.[key] !== undefined);
    },
    /**
     * Partitions of the topics that exist and that we may describe, as the broker knows them now.
     */
    async leaders(topics: readonly string[]): Promise<PartitionLeader[]> {
      if (topics.length === 0) return [];
      const { topicMetadata } = await metadata(topics);
      return topicMetadata.flatMap(({ topic, partitionMetadata }) =>
        partitionMetadata.map(({ partitionId, leader }) => ({
          topic,
          partition: partitionId,
          leader: leader < 0 ? undefined : leader,
        })),
      );
    },
    async coordinator(of: { group: string } | { transactionalId: string }): Promise<AddressedBroker> {
      const [groupId, coordinatorType] =
        "group" in of ? [of.group, coordinatorTypes.group] : [of.transactionalId, coordinatorTypes.transaction];
      const { coordinator } = await (await seed()).findGroupCoordinator({ groupId, coordinatorType });
      return connected(coordinator);
    },
    send: async <Answer>(node: number | AddressedBroker, protocol: Protocol<Answer>): Promise<Answer> =>
      sendTo(typeof node === "number" ? await nodeAt(node) : node, protocol),
    async everywhere<Answer>(protocol: Protocol<Answer>): Promise<Answer[]> {
      await metadata([internalTopics.transactions]);
      return Promise.all(addresses.map(async (address) => sendTo(await connected(address), protocol)));
    },
    async close(): Promise<void> {
      const all = [...brokers.values()].map(({ broker }) => broker.then((made) => made.disconnect()));
      brokers.clear();
      await within(disconnectMs, Promise.allSettled([...all, cluster?.disconnect()]));
      cluster = undefined;
    },
  };
}

export const internalTopics = { transactions: "__transaction_state", offsets: "__consumer_offsets" };
