import { expect, test } from "vitest";
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
