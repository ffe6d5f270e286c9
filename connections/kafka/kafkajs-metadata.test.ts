import { expect, test, vi } from "vitest";
import { classifyKafkaError } from "./errors.ts";
import { internals } from "./kafkajs-internals.ts";
import { Kafka, logLevel } from "./kafkajs.ts";

/** Where kafkajs' admin client asks; `answer` is what came of all brokers. */
function setUp(answer: unknown) {
  const client = new Kafka({ brokers: ["127.0.0.1:9"], logLevel: logLevel.NOTHING });
  const cluster = internals.createCluster(client) as unknown as {
    brokerPool: { refreshMetadataIfNecessary: () => Promise<void>; withBroker: () => Promise<unknown> };
    metadata(question?: object): Promise<unknown>;
  };
  cluster.brokerPool.refreshMetadataIfNecessary = () => Promise.resolve();
  cluster.brokerPool.withBroker = () => Promise.resolve(answer);
  return cluster;
}

test("no broker answers a request for metadata: an error that is worth a retry", async () => {
  const error: unknown = await setUp(null)
    .metadata({ topics: [] })
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ message: "no broker answers a request for metadata" });
  expect(classifyKafkaError(error)).toBe("retriable");
});

test("an answer is passed on", async () => {
  const answer = { clusterId: "c", topicMetadata: [] };
  expect(await setUp(answer).metadata()).toBe(answer);
});

/** A cluster whose broker answers metadata requests when the test calls answerNext or -Last. */
function setUpPool() {
  const client = new Kafka({ brokers: ["127.0.0.1:9"], logLevel: logLevel.NOTHING });
  const cluster = internals.createCluster(client) as unknown as {
    brokerPool: Record<string, unknown>;
    addTargetTopic(topic: string): Promise<void>;
    refreshMetadata(): Promise<void>;
    refreshMetadataIfNecessary(): Promise<void>;
    findTopicPartitionMetadata(topic: string): { partitionId: number }[];
    targetTopics: Set<string>;
  };
  const asked: { topics: string[]; answer: () => void }[] = [];
  const missing = new Set<string>();
  const metadata = (topics: string[]) =>
    new Promise((resolve, reject) => {
      const gone = topics.find((topic) => missing.has(topic));
      const answer = (): void => {
        if (gone !== undefined) reject(Object.assign(new Error(gone), { type: "UNKNOWN_TOPIC_OR_PARTITION" }));
        const partitionMetadata = [{ partitionId: 0, leader: 1 }];
        resolve({ brokers: [], topicMetadata: topics.map((topic) => ({ topic, partitionMetadata })) });
      };
      asked.push({ topics, answer });
    });
  cluster.brokerPool["seedBroker"] = { connectionPool: {} };
  cluster.brokerPool["findConnectedBroker"] = () => Promise.resolve({ metadata });
  const answering = async (choose: () => (typeof asked)[number] | undefined): Promise<string[]> => {
    const chosen = await vi.waitUntil(choose, { interval: 1 });
    chosen.answer();
    return chosen.topics;
  };
  return {
    ...{ cluster, missing },
    answerNext: () => answering(() => asked.shift()),
    /** Waits until two requests are open. */
    answerLast: () => answering(() => (asked.length > 1 ? asked.pop() : undefined)),
  };
}

test("a late answer to an older request removes no partitions", async () => {
  const { cluster, answerNext, answerLast } = setUpPool();
  const first = cluster.addTargetTopic("first");
  expect(await answerNext()).toEqual(["first"]);
  await first;

  cluster.brokerPool["metadataExpireAt"] = 0;
  const older = cluster.refreshMetadataIfNecessary();
  const added = cluster.addTargetTopic("second");
  expect(await answerLast()).toEqual(["first", "second"]);
  await added;
  const shared = cluster.refreshMetadataIfNecessary();
  expect(await answerNext()).toEqual(["first"]);
  await Promise.all([older, shared]);
  expect(cluster.findTopicPartitionMetadata("second")).toHaveLength(1);
});

test("adding a topic during a refresh of others waits for a refresh with it", async () => {
  const { cluster, answerNext } = setUpPool();
  const first = cluster.addTargetTopic("first");
  await answerNext();
  await first;

  const older = cluster.refreshMetadata();
  const added = cluster.addTargetTopic("second");
  expect(await answerNext()).toEqual(["first"]);
  expect(await answerNext()).toEqual(["first", "second"]);
  await Promise.all([older, added]);
  expect(cluster.findTopicPartitionMetadata("second")).toHaveLength(1);
});

test("a topic that does not exist is removed from the targets, even if it shared a refresh", async () => {
  const { cluster, missing, answerNext } = setUpPool();
  missing.add("gone");
  const first = cluster.addTargetTopic("first");
  await answerNext();
  await first;

  const shared = cluster.refreshMetadata();
  const refused = expect(cluster.addTargetTopic("gone")).rejects.toThrow("gone");
  await answerNext();
  await answerNext();
  await Promise.all([shared, refused]);
  expect([...cluster.targetTopics]).toEqual(["first"]);
});

test("an answer about one topic keeps the other topics until the client disconnects", async () => {
  const { cluster, answerNext } = setUpPool();
  const first = cluster.addTargetTopic("first");
  await answerNext();
  await first;
  cluster.brokerPool["metadata"] = { brokers: [], topicMetadata: [{ topic: "second", partitionMetadata: [] }] };
  expect(cluster.findTopicPartitionMetadata("first")).toHaveLength(1);
  cluster.brokerPool["metadata"] = null;
  expect(() => cluster.findTopicPartitionMetadata("first")).toThrow("not loaded");
});
