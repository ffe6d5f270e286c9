// Three brokers, every record on all of them and acknowledged by two: leaders move, partitions are
// added, brokers die and hang, topics are deleted and made anew, under load. Whatever happens,
// every request comes out once, the committed offsets reach the end, and all goes on within 30 s.
// Then the real stages behind two gateways and a load balancer, killed in turn with a broker.
// npm run soak sends twice as many requests.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { quantilesOf } from "../../algorithms/numeric/quantile.ts";
import { createKafkaClient } from "../../connections/kafka/client.ts";
import { configSchema } from "../../config/schema.ts";
import { createLog } from "../../runtime/log.ts";
import { readWithJava } from "../faults/support/java-reader.ts";
import type { Session } from "../../pipelines/session.ts";
import { startCluster, type Cluster, type NodeId } from "../support/cluster.ts";
import { startFleet } from "../support/fleet.ts";
import { startMixedLoad, type Answered, type MixedLoad } from "../support/mixed-load.ts";
import { startModel } from "../support/model.ts";
import { createTopics, startRelay, topics, type Relay } from "../support/relay.ts";
import { eventually, startSystem } from "../support/system.ts";

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

/** Killed in this order, and started again while the next is killed. */
const comeBack = ["gateway-a", "plan-a", "generate-a", "record-a"];
/** Killed after them; one of each kind is there. */
const stayAway = ["broker", "plan-b", "gateway-b"];

async function moreOf({ answered }: MixedLoad, count: number): Promise<void> {
  const goal = answered.length + count;
  const reached = () => Promise.resolve(answered.length >= goal ? true : undefined);
  await eventually(`${count} more answers`, reached, 4 * goesOnWithinMs);
}
/** Milliseconds between one answer and the next. */
const gapsOf = (answered: readonly Answered[]): number[] => answered.slice(1).map(({ at }, i) => at - answered[i]!.at);

/** Texts of all responses that are no repeats, by request id. */
async function firstResponses({ kafka, codec, topic }: Session): Promise<Map<string, string[]>> {
  const values: Buffer[] = [];
  const reader = kafka.readTopic(topic("responses"), (records) => {
    for (const { value } of records) if (value !== null) values.push(value);
  });
  await reader.caughtUp;
  await reader.stop();
  const found = new Map<string, string[]>();
  for (const value of values) {
    const decoded = await codec.decode("responses", value);
    if (!decoded.ok) throw new Error(`a response can't be read: ${decoded.reason}`);
    const { requestId, text, duplicate } = decoded.value;
    if (!duplicate) found.set(requestId, [...(found.get(requestId) ?? []), text]);
  }
  return found;
}

test("two gateways, three plan processes and a broker are killed behind a balancer", { timeout: 500_000 }, async () => {
  const model = await startModel();
  const mock = { type: "openai", baseUrl: model.baseUrl, model: "mock-1", cost: 1, concurrency: 64 };
  const arms = ["queued", "inline"].map((name) => ({ ...mock, name, dispatch: name }));
  const kafka = { brokers: cluster.brokers, partitions: 3 };
  const system = await startSystem({ arms, kafka, limits: { deadlineMs: 600_000 } }, { stages: [] });
  const { session } = system;
  const fleet = await startFleet(system.config, { plan: 3, generate: 1, record: 1, gateway: 2 }).catch(
    async (error: unknown) => {
      await Promise.allSettled([system.stop(), model.stop()]);
      throw error;
    },
  );
  const within = { perSecond: 5, mostWaiting: 30, withinMs: 4 * goesOnWithinMs };
  const load = await startMixedLoad({ ...fleet, session, arms: ["queued", "inline"], ...within });
  const others: Promise<void>[] = [];
  const without: Record<string, number> = {};
  try {
    await moreOf(load, 12);
    for (const one of [...comeBack, ...stayAway]) {
      const before = load.answered.length;
      if (one.startsWith("gateway")) await load.streamAt(fleet.baseUrlOf(one));
      if (one === "broker") await cluster.kill(3);
      else await fleet.kill(one);
      if (comeBack.includes(one)) others.push(sleep(500).then(() => fleet.start(one)));
      else await Promise.all(others);
      await sleep(3_000);
      await moreOf(load, 12);
      without[one] = Math.max(...gapsOf(load.answered.slice(Math.max(0, before - 1))));
    }
    await load.finish();
    const { answered } = load;

    // Once: one first response to each id, and no response to an id that no client has.
    const responses = await firstResponses(session);
    expect(answered).toHaveLength(load.issued());
    expect(answered.map(({ id }) => id).sort()).toEqual([...responses.keys()].sort());
    expect([...responses].filter(([, texts]) => texts.length !== 1)).toEqual([]);
    // Whole, and the same for all who asked: what a client took for the answer is that response.
    for (const { id, via, text } of answered) expect([id, via, text]).toEqual([id, via, responses.get(id)?.[0]]);
    // What a cut stream had shown is the beginning of it, unless the model was called again.
    const cut = answered.filter((one) => one.cut.some((text) => text !== ""));
    expect(cut.length).toBeGreaterThan(1);
    const calls = (asked: string): number =>
      model.received().filter(({ messages }) => (messages as { content: string }[])[0]?.content === asked).length;
    for (const { question, text, cut: shown } of cut)
      if (calls(question) === 1) for (const part of shown) expect(text.slice(0, part.length)).toBe(part);
    // A client that comes back with its key gets that answer once more.
    for (const one of answered.filter(({ via }) => via !== "kafka").slice(-10))
      expect(await load.again(one)).toMatchObject({ id: one.id, text: one.text, duplicate: true });

    const n = load.issued();
    const rows = await system.eventually("all in ClickHouse", async () => {
      const [found] = await session.clickhouse.query<Record<string, number>>(
        `SELECT (SELECT count() FROM requests FINAL) AS requests, (SELECT count() FROM decisions FINAL) AS decisions,
                (SELECT countIf(NOT duplicate) FROM responses FINAL) AS responses, (SELECT count() FROM dead_letters FINAL) AS letters`,
      );
      return [found?.requests, found?.decisions, found?.responses].every((rows = 0) => rows >= n) ? found : undefined;
    });
    const [gaps, waits] = [gapsOf(answered), answered.map(({ waitMs }) => waitMs)];
    const spread = (values: readonly number[]) => quantilesOf(values, [0.5, 0.99, 1]).map(Math.round);
    console.log(
      JSON.stringify({
        requests: n,
        kills: comeBack.length + stayAway.length,
        retried: answered.filter((one) => one.cut.length > 0).length,
        cut: cut.length,
        calledAgain: model.received().length - answered.length,
        connections: fleet.taken(),
        withoutAnswerMs: { p50p99max: spread(gaps), after: without },
        clientWaitedMs: spread(waits),
        rows,
      }),
    );
    expect(rows).toEqual({ requests: n, decisions: n, responses: n, letters: 0 });
  } finally {
    await Promise.allSettled(others);
    await load.finish().catch(() => undefined);
    await fleet.stop().finally(() => Promise.all([system.stop(), model.stop()]));
  }
});

test("no node dropped a transaction marker", async () => {
  for (const node of [1, 2, 3] as const) {
    // For a deleted topic this message is right.
    const lines = (await cluster.log(node)).split("\n").filter((line) => line.includes("likely deleted already"));
    expect(lines.filter((line) => !/copies|requests/.test(line))).toEqual([]);
  }
});
