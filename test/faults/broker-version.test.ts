// What the embedded broker says of itself: that it is none of those that lose transaction markers
// (KAFKA-20734), and the two ends of a partition while a transaction is open.
import { afterAll, beforeAll, expect, test } from "vitest";
import { openCluster } from "../../connections/kafka/kafkajs-cluster.ts";
import { brokerLevels } from "../../connections/kafka/lost-markers.ts";
import { createTestKafka, message, type TestKafka } from "../support/kafka.ts";
import { testStack } from "../support/stack.ts";
import { eventually } from "../support/system.ts";

let its: TestKafka;
beforeAll(() => {
  its = createTestKafka();
});
afterAll(() => its.close());

test("the embedded broker names its level, which is not affected", async () => {
  const cluster = openCluster(its.client);
  try {
    const [address] = testStack().brokers;
    // Kafka 4.2.x: metadata.version goes up to 4.2-IV1.
    expect(await brokerLevels(cluster)).toEqual([{ address, metadataVersion: 29, losesMarkers: false }]);
  } finally {
    await cluster.close();
  }
  expect(await its.kafka.brokerProblem()).toBeUndefined();
});

test("an open transaction holds the stable end and not the high one", async () => {
  const topic = await its.topic(2);
  const plain = its.kafka.plainProducer();
  await plain.send([message(topic, "a", 0), message(topic, "b", 1)]);
  expect(await its.kafka.ends(topic)).toEqual([
    { partition: 0, stable: 1, high: 1 },
    { partition: 1, stable: 1, high: 1 },
  ]);
  const producer = its.client.producer({ transactionalId: `${topic}.id`, idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  const transaction = await producer.transaction();
  await transaction.send({ topic, messages: [{ key: "c", value: "c", partition: 1 }] });
  await plain.send([message(topic, "d", 1)]);
  expect((await its.kafka.ends(topic))[1]).toEqual({ partition: 1, stable: 1, high: 3 });
  await transaction.abort();
  await eventually("the marker", async () => ((await its.kafka.ends(topic))[1]?.stable === 4 ? true : undefined));
  await Promise.all([producer.disconnect(), plain.close()]);
  await expect(its.kafka.ends("no-such-topic")).rejects.toThrow();
});
