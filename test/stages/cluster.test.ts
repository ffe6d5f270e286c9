// Three brokers, every record on all of them and acknowledged by two: leaders move, partitions are
// added, brokers die and hang, topics are deleted and made anew, under load. Whatever happens,
// every request comes out once, the committed offsets reach the end, and all goes on within 30 s.
// npm run soak sends twice as many requests.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKafkaClient } from "../../connections/kafka/client.ts";
import { configSchema } from "../../config/schema.ts";
import { createLog } from "../../runtime/log.ts";
import { readWithJava } from "../faults/support/java-reader.ts";
import { eventually, requestOf, startSystem } from "../support/system.ts";
import { startCluster, type Cluster, type NodeId } from "../support/cluster.ts";
import { createTopics, startRelay, topics, type Relay } from "../support/relay.ts";

/** After the last of the brokers is back. While one is away, others take over within twice that. */
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
  relay = await startRelay(cluster.brokers, process.env.PRECEDENT_FULL_COUNTS === undefined ? 30 : 60);
}, 240_000);
afterAll(async () => {
  await relay?.stop();
  await cluster?.stop();
});

/**
 * Makes another replica of every partition the preferred one; the brokers move the leaders by
 * themselves.
 */
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
async function goesOn(withinMs = goesOnWithinMs): Promise<void> {
  const began = Date.now();
  await relay.moreAnswers(100, withinMs);
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

test.each<NodeId>([1, 2])("node %i is killed and comes back", { timeout: 240_000 }, async (node) => {
  await cluster.kill(node);
  try {
    await goesOn(2 * goesOnWithinMs);
  } finally {
    await cluster.start(node);
  }
  await goesOn();
});

test("a node hangs for longer than the others wait for it", { timeout: 90_000 }, async () => {
  cluster.freeze(2);
  await sleep(8_000);
  cluster.thaw(2);
  await goesOn();
});

/** Deletes the topic; resolves when no broker knows it any more. */
async function deleteTopic(name: string): Promise<void> {
  await relay.admin.deleteTopics({ topics: [name] });
  await eventually(`no ${name}`, async () => ((await relay.admin.listTopics()).includes(name) ? undefined : true));
}

let copiedFrom = 0;
test("an output topic is deleted: stages say so and wait; made anew, they go on", { timeout: 120_000 }, async () => {
  await deleteTopic("copies");
  const says = (): string | undefined => relay.problems().find((problem) => problem.startsWith("requests/"));
  console.log("while it is away:", await eventually("a problem", () => Promise.resolve(says())));
  await createTopics(relay.admin, ["copies"]);
  copiedFrom = relay.issued();
  await goesOn();
  await eventually(
    "health tells of nothing",
    () =>
      relay.problems().length === 0 ? Promise.resolve(true) : Promise.reject(new Error(relay.problems().join("; "))),
    60_000,
  );
});

test("nothing is lost, nothing comes twice, everything is committed", { timeout: 180_000 }, async () => {
  await relay.finish(40_000);
  const requests = await relay.recordsOf("requests");
  console.log(relay.issued(), "issued");
  expect(requests.size).toBe(relay.issued());
  const java = await readWithJava(cluster.servers, cluster.brokers, topics);
  expect(java.get("requests"), "requests, read by Java").toEqual(requests);
  for (const topic of ["work", "decisions", "responses"]) {
    expect(await relay.recordsOf(topic), topic).toEqual(requests);
    expect(java.get(topic), `${topic}, read by Java`).toEqual(requests);
  }
  const copies = await relay.recordsOf("copies");
  expect(java.get("copies"), "copies, read by Java").toEqual(copies);
  for (let i = copiedFrom; i < relay.issued(); i++) expect(copies.get(`r-${i}`), `copy of r-${i}`).toBe(1);
  for (const [id, times] of copies) expect(times, `copies of ${id}`).toBe(1);
  expect(relay.backwards).toEqual([]);
});

test("an input topic that is made anew is read from its beginning", { timeout: 90_000 }, async () => {
  await deleteTopic("requests");
  await createTopics(relay.admin, ["requests"]);
  const ids = Array.from({ length: 200 }, (_, i) => `again-${i}`);
  const answered = relay.moreAnswers(ids.length, goesOnWithinMs);
  await Promise.all([relay.ask(ids), answered]);
  // Each at least once: what was read before the new topic was recognised may be answered again.
  const responses = await relay.recordsOf("responses");
  expect(ids.filter((id) => !responses.has(id))).toEqual([]);
});

test("the real pipelines go on when a node is killed", { timeout: 180_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "precedent-cluster-arm-"));
  const file = join(folder, "log.jsonl");
  await writeFile(file, JSON.stringify({ request: "What time is it?", response: "noon" }));
  const arms = [
    {
      name: "recorded",
      type: "recorded",
      dispatch: "queued",
      file,
      latencyMs: 5,
      latencySpreadMs: 100,
      concurrency: 256,
    },
  ];
  const kafka = { brokers: cluster.brokers, partitions: 2 };
  const system = await startSystem({ arms, kafka }, { stages: ["plan", "generate", "record"] });
  try {
    const requests = Array.from({ length: 150 }, () => requestOf("What time is it?"));
    const half = requests.splice(0, 75);
    const first = half.map(({ id }) => system.response(id, goesOnWithinMs));
    await system.produce(half);
    await cluster.kill(3);
    const rest = requests.map(({ id }) => system.response(id, goesOnWithinMs));
    await system.produce(requests);
    for (const { status, text } of await Promise.all([...first, ...rest]))
      expect([status, text]).toEqual(["ok", "noon"]);
    for (const table of ["requests", "decisions", "responses"])
      await system.eventually(`${table} in ClickHouse`, async () => {
        const [rows] = await system.session.clickhouse.query<{ rows: number | string; ids: number | string }>(
          `SELECT count() AS rows, uniqExact(request_id) AS ids FROM ${table} FINAL`,
        );
        return (Number(rows?.rows) === 150 && Number(rows?.ids) === 150) || undefined;
      });
    for (const [id, found] of system.responses) expect(found, id).toHaveLength(1);
    expect(system.responses.size).toBe(150);
  } finally {
    await system.stop();
    await rm(folder, { recursive: true, force: true });
  }
});

test("no node dropped a transaction marker", async () => {
  for (const node of [1, 2, 3] as const) {
    // For a deleted topic this message is right.
    const lines = (await cluster.log(node)).split("\n").filter((line) => line.includes("likely deleted already"));
    expect(lines.filter((line) => !/copies|requests/.test(line))).toEqual([]);
  }
});
