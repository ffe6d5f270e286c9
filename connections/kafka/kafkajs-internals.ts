// The only module that reads kafkajs' internals. They are stable only because the version is
// pinned: any other version is refused.
import Module, { createRequire } from "node:module";
import type { Socket } from "node:net";

const require = createRequire(import.meta.url);
const supportedVersion = "2.2.4";
/** Where all of its modules lie. */
const folder = require.resolve("kafkajs/package.json").slice(0, -"package.json".length);

/** Throws unless the installed kafkajs is the one that our patches were written and tested for. */
export function assertKafkajsVersion(): void {
  const { version } = require("kafkajs/package.json") as { version: string };
  if (version !== supportedVersion) {
    throw new Error(
      `kafkajs ${version} is installed, but connections/kafka patches ${supportedVersion}: install that version, or port the patches and their regression tests first`,
    );
  }
}

/**
 * Replaces a CommonJS module by `exports`, for all later imports of it and of modules built on it.
 * Importers that loaded kafkajs before keep the original: modules of kafkajs that use the replaced
 * one are loaded anew for us, all others are shared.
 */
export function replaceModule(from: NodeJS.Require, name: string, exports: unknown): void {
  const path = from.resolve(name);
  for (const user of usersOf(from.cache, path)) Reflect.deleteProperty(from.cache, user);
  const stand = new Module(path);
  Object.assign(stand, { filename: path, loaded: true, exports });
  from.cache[path] = stand;
}

/** Loaded modules of kafkajs that came to load `path`, directly or not. */
function usersOf(cache: NodeJS.Dict<NodeJS.Module>, path: string): string[] {
  const inside = Object.values(cache).filter((module) => module?.filename.startsWith(folder)) as NodeJS.Module[];
  const found = new Set([path]);
  for (let before = 0; before < found.size;) {
    before = found.size;
    for (const { filename, children } of inside)
      if (children.some((child) => found.has(child.filename))) found.add(filename);
  }
  found.delete(path);
  return [...found];
}

export interface ProtocolModule<Arguments> {
  versions: string[];
  protocol: (choice: { version: string | number }) => (options: Arguments) => unknown;
}

export interface EncoderLike {
  /** What is written. */
  readonly buffer: Buffer;
  writeUVarIntBytes(value?: Buffer | null): EncoderLike;
  writeUVarIntString(value: string | null): EncoderLike;
  writeUVarIntArray(value: EncoderLike[]): EncoderLike;
  writeUVarInt(value: number): EncoderLike;
  writeInt64(value: string | number): EncoderLike;
  writeInt32(value: number): EncoderLike;
  writeInt16(value: number): EncoderLike;
  writeInt8(value: number): EncoderLike;
  writeBoolean(value: boolean): EncoderLike;
}
export interface DecoderLike {
  /** From where it stands, which it does not move. */
  slice(size: number): DecoderLike;
  forward(size: number): void;
  readUVarInt(): number;
  readBoolean(): boolean;
  readBytes(length: number): Buffer;
  readInt16(): number;
  readInt32(): number;
  readInt64(): { toString(): string };
  readUVarIntString(): string | null;
  readUVarIntArray<T>(read: (decoder: DecoderLike) => T): T[];
}
/** A request in kafkajs' own shape; `encode` writes the header's tagged fields as well. */
export interface RawRequest<T> {
  request: { apiKey: number; apiVersion: number; apiName: string; encode(): Promise<EncoderLike> };
  response: { decode(raw: Buffer): Promise<T>; parse(answer: T): Promise<T> };
  /** Whether kafkajs logs what parse throws; it does unless told. */
  logResponseError?: boolean;
}
export interface PartitionOffset {
  partition: number;
  offset: string;
}
export interface BrokerLike {
  connectionPool: { send<T>(request: RawRequest<T>): Promise<T> };
  listOffsets(question: {
    /** 0: the high watermark; 1: the last stable offset. */
    isolationLevel: 0 | 1;
    topics: { topic: string; partitions: { partition: number; timestamp: number }[] }[];
  }): Promise<{ responses: { topic: string; partitions: PartitionOffset[] }[] }>;
}
/** A cluster object that is asked, not run by a consumer or producer. */
export interface QueryClusterLike {
  brokerPool: { metadata?: { brokers: { nodeId: number; host: string; port: number }[] } };
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  addTargetTopic(topic: string): Promise<void>;
  refreshMetadata(): Promise<void>;
  findTopicPartitionMetadata(topic: string): { partitionId: number }[];
  findLeaderForPartitions(topic: string, partitions: number[]): Record<string, number[]>;
  findBroker(which: { nodeId: string }): Promise<BrokerLike>;
}
/** CoordinatorType of FindCoordinator. */
export const coordinatorTypes = { group: 0, transaction: 1 };

export interface CoordinatorQuestion {
  groupId: string;
  coordinatorType: number;
}
export interface ClusterLike {
  brokerPool: {
    brokers: Record<string, { isConnected(): boolean; findGroupCoordinator(question: CoordinatorQuestion): unknown }>;
  };
  findGroupCoordinatorMetadata(question: CoordinatorQuestion): Promise<unknown>;
}
export interface KnownMetadata {
  topicMetadata: { topic: string; partitionMetadata: object[] }[];
}
/** A broker of the metadata: where it says that it listens. */
export interface PooledBroker {
  connectionPool: { host: string; port: number };
}
export interface DescribedCluster {
  targetTopics: Set<string>;
  brokerPool: { metadata: KnownMetadata | null; brokers: Record<string, PooledBroker> };
  refreshMetadata: (this: DescribedCluster) => Promise<void>;
  refreshMetadataIfNecessary: (this: DescribedCluster) => Promise<void>;
  metadata: (this: DescribedCluster, question?: { topics?: string[] }) => Promise<object | null>;
}
/** Where a broker listens. */
export interface BrokerAddress {
  nodeId: number;
  host: string;
  port: number;
  rack?: string | null;
}
/** A broker with its connections, as a transaction's coordinator and for requests of our own. */
export interface AddressedBroker {
  connectionPool: { send(protocol: unknown): Promise<unknown> };
  /** By API key; null until it is connected. */
  versions: Record<number, { minVersion: number; maxVersion: number }> | null;
  isConnected(): boolean;
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  findGroupCoordinator(question: CoordinatorQuestion): Promise<{ coordinator: BrokerAddress }>;
  addOffsetsToTxn(options: ProducerOfTransaction & { groupId: string }): Promise<unknown>;
  addPartitionsToTxn(
    options: ProducerOfTransaction & { topics: { topic: string; partitions: number[] }[] },
  ): Promise<unknown>;
  endTxn(options: ProducerOfTransaction & { transactionResult: boolean }): Promise<unknown>;
}
export interface ProducerOfTransaction {
  transactionalId: string;
  producerId: string;
  producerEpoch: number;
}
/** What every client, producer and consumer of kafkajs has inside. */
export interface ConnectedCluster {
  rootLogger: unknown;
  connectionPoolBuilder: { build(address: Omit<BrokerAddress, "nodeId">): Promise<unknown> };
  brokerPool: {
    seedBroker: AddressedBroker;
    createBroker(options: { connectionPool: unknown; logger: unknown; nodeId: number }): AddressedBroker;
  };
  connect(): Promise<void>;
  disconnect(): Promise<void>;
}
/** A broker's connection: one socket after the other. */
export interface ConnectionLike {
  socket?: Socket;
  /** What came of an answer that is not there whole yet. */
  chunks: Buffer[];
  bytesBuffered: number;
  bytesNeeded: number;
  isConnected(): boolean;
  connect(): Promise<unknown>;
}
/** A connection's requests: those under way, and those that wait for a slot. */
export interface RequestQueueLike {
  pending: unknown[];
  inflight: Map<number, { entry: { apiKey: number } }>;
  scheduleCheckPendingRequests(): void;
  /** When it disconnects. */
  waitForPendingRequests(): Promise<void>;
}
/** The member that a consumer is between two crashes; it owns the cluster object. */
export interface ConsumerGroupLike {
  cluster: { refreshMetadata(): Promise<unknown> };
  memberId: string | null;
  preferredReadReplicasPerTopicPartition?: Record<string, Record<number, number | undefined> | undefined>;
  /** Milliseconds that the broker may wait for `minBytes`. */
  maxWaitTime: number;
  minBytes: number;
  pause(topics: { topic: string; partitions: number[] }[]): void;
  resume(topics: { topic: string; partitions: number[] }[]): void;
  recoverFromOffsetOutOfRange(error: { topic: string; partition: number }): Promise<void>;
  recoverFromFetch(error: { type?: string }): Promise<void>;
  connect(): Promise<unknown>;
  joinAndSync(): Promise<unknown>;
  leave(): Promise<unknown>;
  fetch(nodeId: string): Promise<unknown[]>;
}
/** What a consumer runs between two joins. */
export interface RunnerLike {
  running: boolean;
  consumerGroup: ConsumerGroupLike;
  fetchManager: { stop(): Promise<void> };
  start(): Promise<void>;
  stop(): Promise<void>;
  fetch(nodeId: string): Promise<unknown[]>;
}
interface ProtocolErrors {
  errorCodes: { type: string; code: number; retriable: boolean; message: string }[];
  failure(code: number): boolean;
  createErrorFromCode(code: number): Error;
}

/** A cluster object of one's own, with its brokers and connections. */
export const clusterOf = (client: object): ConnectedCluster => createCluster(client) as unknown as ConnectedCluster;

/** What its own admin, producers and consumers are made with. */
function createCluster(client: object): QueryClusterLike {
  const symbol = Object.getOwnPropertySymbols(client).find(({ description }) => description?.includes("createCluster"));
  if (symbol === undefined) throw new Error("this is no kafkajs client: it makes no clusters");
  const make = (client as Record<symbol, (options: object) => QueryClusterLike>)[symbol];
  if (make === undefined) throw new Error("this kafkajs client makes no clusters");
  const readUncommitted = 0;
  return make({ metadataMaxAge: 300_000, allowAutoTopicCreation: false, isolationLevel: readUncommitted });
}

export const internals = {
  createCluster,
  Encoder: require("kafkajs/src/protocol/encoder") as new () => EncoderLike,
  Decoder: require("kafkajs/src/protocol/decoder") as new (raw: Buffer) => DecoderLike,
  errors: require("kafkajs/src/protocol/error") as ProtocolErrors,
  Cluster: require("kafkajs/src/cluster") as { prototype: ClusterLike & DescribedCluster },
  BrokerPool: require("kafkajs/src/cluster/brokerPool") as {
    prototype: { connectBroker: (this: object, broker: PooledBroker) => Promise<void> };
  },
  /** Asked for late: it brings along what patchAbortedFilter replaces. */
  get ConsumerGroup() {
    return require("kafkajs/src/consumer/consumerGroup") as { prototype: ConsumerGroupLike };
  },
  get Runner() {
    return require("kafkajs/src/consumer/runner") as { prototype: RunnerLike };
  },
  ConnectionError: (require("kafkajs/src/errors") as { KafkaJSConnectionError: new (message: string) => Error })
    .KafkaJSConnectionError,
  Connection: require("kafkajs/src/network/connection") as { prototype: ConnectionLike },
  RequestQueue: require("kafkajs/src/network/requestQueue") as { prototype: RequestQueueLike },
  requests: <Arguments>(name: string): ProtocolModule<Arguments> =>
    require(`kafkajs/src/protocol/requests/${name}`) as ProtocolModule<Arguments>,
  assignerProtocol: require("kafkajs/src/consumer/assignerProtocol") as {
    MemberMetadata: {
      encode(value: { version: number; topics: string[]; userData?: Buffer }): Buffer;
      decode(value: Buffer): { version: number; topics: string[]; userData: Buffer };
    };
    MemberAssignment: { encode(value: { version: number; assignment: Record<string, number[]> }): Buffer };
  },
};
