// What of kafkajs 2.2.4 a send needs: its cluster, its bookkeeping of a producer, and its request
// Produce, which is written by us, and of which it shows all that was answered.
import { internals } from "./kafkajs-internals.ts";
import { written } from "./protocol/codec.ts";
import { encodeProduce, type ProduceBody } from "./protocol/produce.ts";
import type { Batch, Message, ProduceResponse, TopicMessages } from "./unacknowledged.ts";
import { groupBy } from "../../algorithms/lists/lists.ts";

export interface TopicData {
  topic: string;
  partitions: Batch[];
}
export interface Broker {
  produce(request: ProduceBody): Promise<ProduceResponse>;
}
export interface PartitionMetadata {
  partitionId: number;
  leader: number | null;
}
export interface Cluster {
  targetTopics: Set<string>;
  isConnected(): boolean;
  connect(): Promise<void>;
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
  refreshMetadata(): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
  findTopicPartitionMetadata(topic: string): PartitionMetadata[];
  findBroker(which: { nodeId: number }): Promise<Broker>;
  removeBroker(which: { host: string; port: number }): void;
}
export interface EosManager {
  isInitialized(): boolean;
  isTransactional(): boolean;
  getTransactionalId(): string | undefined;
  getProducerId(): string | number | bigint;
  getProducerEpoch(): number;
  getSequence(topic: string, partition: number): number;
  updateSequence(topic: string, partition: number, increment: number): void;
  /** leaders: how many brokers they are sent to. */
  addPartitionsToTransaction(topicData: readonly TopicData[], leaders: number): Promise<void>;
  /** Where it is not the broker's own: of a producer that has another version. */
  produce?(broker: Broker, request: ProduceBody): Promise<ProduceResponse>;
}
export interface SendDependencies {
  logger: { debug(message: string, extra?: object): void };
  cluster: Cluster;
  partitioner(choice: { topic: string; partitionMetadata: PartitionMetadata[]; message: Message }): number;
  eosManager: EosManager;
}
export interface Send {
  acks: number;
  /** Milliseconds for everything. */
  timeout?: number;
  compression?: unknown;
  topicMessages: readonly TopicMessages[];
}

/** As Produce and AddPartitionsToTxn take it. */
export const byTopic = (batches: readonly Batch[]): TopicData[] =>
  Array.from(
    groupBy(batches, ({ topic }) => topic),
    ([topic, partitions]) => ({ topic, partitions }),
  );

/** The first version with record batches. */
const recordBatches = 3;

interface Built {
  request: { apiVersion: number; encode(): Promise<object> };
  response: object;
}

/**
 * kafkajs throws at the first error of an answer, and what that acknowledges besides is lost: here
 * the errors are left to the send. And what is not compressed is written in one pass.
 */
export function patchProduce(): void {
  const produce = internals.requests<ProduceBody & { compression?: unknown }>("produce");
  const original = produce.protocol;
  produce.protocol = (choice) => {
    const build = original(choice);
    return (options) => {
      const { request, response, ...rest } = build(options) as Built;
      const ours = request.apiVersion >= recordBatches && (options.compression ?? 0) === 0;
      return {
        ...rest,
        request: ours
          ? { ...request, encode: () => Promise.resolve(written(encodeProduce(options, Date.now()))) }
          : request,
        response: { ...response, parse: (data: unknown) => Promise.resolve(data) },
      };
    };
  };
}
