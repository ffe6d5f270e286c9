import { expect, test } from "vitest";
import { adviceOf } from "../security/errors.ts";
import { internals } from "./kafkajs-internals.ts";
import { Kafka, logLevel } from "./kafkajs.ts";

interface Pool {
  brokers: Record<string, object>;
  findBroker(which: { nodeId: string }): Promise<unknown>;
  withBroker(): Promise<unknown>;
  refreshMetadataIfNecessary(): Promise<void>;
}

function setUp(connect: () => Promise<void>) {
  const client = new Kafka({ brokers: ["127.0.0.1:9"], logLevel: logLevel.NOTHING, retry: { retries: 0 } });
  const cluster = internals.createCluster(client) as unknown as { brokerPool: Pool; metadata(): Promise<unknown> };
  const { brokerPool } = cluster;
  brokerPool.brokers = {
    1: {
      ...{ isConnected: () => false, connect, disconnect: () => Promise.resolve() },
      connectionPool: { host: "kafka-0.internal", port: 9092 },
    },
  };
  return cluster;
}
const thrownBy = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);

test("an advertised address that can't be reached is named, once, with what to do", async () => {
  const refusal = new internals.ConnectionError("Connection error: getaddrinfo ENOTFOUND kafka-0.internal");
  const { brokerPool } = setUp(() => Promise.reject(refusal));
  for (let attempt = 0; attempt < 2; attempt++) {
    const error = await thrownBy(brokerPool.findBroker({ nodeId: "1" }));
    expect(error).toMatchObject({
      name: "KafkaJSConnectionError",
      message: "Connection error: getaddrinfo ENOTFOUND kafka-0.internal: the brokers advertise kafka-0.internal:9092",
    });
    expect(adviceOf(error)).toContain("advertised.listeners");
  }
});

test("other failures of a broker stay as they are", async () => {
  const refusal = Object.assign(new Error("SASL authentication failed"), { retriable: false });
  const { brokerPool } = setUp(() => Promise.reject(refusal));
  expect(await thrownBy(brokerPool.findBroker({ nodeId: "1" }))).toBe(refusal);
  expect(refusal.message).toBe("SASL authentication failed");
});

test("so are addresses at which a connection is taken, and no request answered", async () => {
  const cluster = setUp(() => Promise.resolve());
  cluster.brokerPool.refreshMetadataIfNecessary = () => Promise.resolve();
  cluster.brokerPool.withBroker = () => Promise.resolve(null);
  const error = await thrownBy(cluster.metadata());
  expect(error).toMatchObject({
    message: "no broker answers a request for metadata: the brokers advertise kafka-0.internal:9092",
  });
});
