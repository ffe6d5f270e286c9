// Three brokers, every record on all of them and acknowledged by two: leaders move, partitions are added, brokers die and hang, under load. Whatever
// happens, every request comes out once, the committed offsets reach the end, and all goes on within 30 s.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKafkaClient } from "../connections/kafka/client.ts";
import { configSchema } from "../config/schema.ts";
import { createLog } from "../runtime/log.ts";
import { eventually } from "./support/system.ts";
import { startCluster, type Cluster, type NodeId } from "./support/cluster.ts";
import { startRelay, topics, type Relay } from "./support/relay.ts";

const goesOnWithinMs = 30_000;
let cluster: Cluster;
let relay: Relay;

beforeAll(async () => {
  const log = createLog({ level: "silent" });
  const config = configSchema.shape.kafka.parse({});
  cluster = await startCluster(async (broker) => {
    const admin = createKafkaClient({ brokers: [broker], clientId: "probe", config, log }).admin({
      retry: { retries: 0 },
    });
    try {
      await admin.connect();
      const { brokers } = await admin.describeCluster();
      if (brokers.length < 2) throw new Error("it is alone");
    } finally {
      await admin.disconnect();
    }
  });
  relay = await startRelay(cluster.brokers, 60);
}, 240_000);
afterAll(async () => {
  await relay?.stop();
  await cluster?.stop();
});

/** Makes another replica of every partition the preferred one; the brokers move the leaders by themselves. */
async function moveLeaders(): Promise<void> {
  const { topics: found } = await relay.admin.fetchTopicMetadata({ topics: [...topics] });
  await relay.admin.alterPartitionReassignments({
    topics: found.map(({ name, partitions }) => ({
      topic: name,
      partitionAssignment: partitions.map(({ partitionId, replicas }) => ({
        partition: partitionId,
        replicas: [...replicas.slice(1), ...replicas.slice(0, 1)],
      })),
    })),
  });
}
const leaders = async (): Promise<string> => {
  const { topics: found } = await relay.admin.fetchTopicMetadata({ topics: [...topics] });
  return JSON.stringify(
    found.map(({ partitions }) => partitions.map(({ partitionId, leader }) => [partitionId, leader]).sort()),
  );
};
async function goesOn(): Promise<void> {
  const began = Date.now();
  await relay.moreAnswers(100, goesOnWithinMs);
  console.log(expect.getState().currentTestName, "went on after", Date.now() - began, "ms");
}

test("leaders move, partitions are added", { timeout: 90_000 }, async () => {
  await relay.moreAnswers(50, goesOnWithinMs);
  const before = await leaders();
  await moveLeaders();
  await eventually("other leaders", async () => ((await leaders()) === before ? undefined : true));
  await relay.admin.createPartitions({ topicPartitions: topics.map((topic) => ({ topic, count: 6 })) });
  await goesOn();
});

test.each<NodeId>([1, 2])("node %i is killed and comes back", { timeout: 120_000 }, async (node) => {
  await cluster.kill(node);
  await goesOn();
  await cluster.start(node);
  await goesOn();
});

test("a node hangs for longer than the others wait for it", { timeout: 90_000 }, async () => {
  cluster.freeze(2);
  await sleep(8_000);
  cluster.thaw(2);
  await goesOn();
});

test("nothing is lost, nothing comes twice, everything is committed", { timeout: 180_000 }, async () => {
  await relay.finish(40_000);
  const requests = await relay.recordsOf("requests");
  console.log(relay.issued(), "issued");
  expect(requests.size).toBe(relay.issued());
  for (const topic of ["work", "decisions", "responses"]) expect(await relay.recordsOf(topic), topic).toEqual(requests);
  expect(relay.backwards).toEqual([]);
  for (const node of [1, 2, 3] as const) expect(await cluster.log(node)).not.toContain("likely deleted already");
});
