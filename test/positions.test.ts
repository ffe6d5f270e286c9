// Positions that can't be right, on a real broker: a committed offset beyond the end of the log (what a power loss or an unclean election leaves behind), a topic
// that is deleted and made again under a running stage, and a committed position of another topic. What is acknowledged afterwards is answered.
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Admin } from "kafkajs";
import { splitOrigin, withOrigin } from "../algorithms/origin.ts";
import { createLog } from "../runtime/log.ts";
import { createMetricsRegistry, createStageMetrics } from "../runtime/metrics.ts";
import { createStage, type Stage } from "../runtime/stage.ts";
import { createTestKafka, message, type TestKafka } from "./support/kafka.ts";
import { eventually } from "./support/system.ts";

let its: TestKafka;
let admin: Admin;

beforeAll(async () => {
  its = createTestKafka();
  admin = its.client.admin();
  await admin.connect();
});
afterAll(async () => {
  await admin.disconnect();
  await its.close();
});

async function start(input: string, output: string): Promise<Stage> {
  const stage = createStage({
    name: "positions",
    group: `${input}.group`,
    topics: [input],
    transactionalId: `${input}.one`,
    instance: "one",
    sessionTimeoutMs: 6_000,
    limits: { inFlight: 64, inFlightBytes: 1_000_000, drainMs: 2_000 },
    kafka: its.kafka,
    process: ({ key }) => Promise.resolve([message(output, String(key))]),
    rejected: () => Promise.reject(new Error("nothing is refused here")),
    metrics: createStageMetrics(createMetricsRegistry(), "positions"),
    log: createLog({ level: "silent" }),
  });
  await stage.start();
  return stage;
}

async function send(topic: string, from: number, count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, (_, i) => `r${from + i}`);
  const producer = its.kafka.plainProducer();
  await producer.send(keys.map((key) => message(topic, key)));
  await producer.close();
  return keys;
}

const answered = (output: string, keys: readonly string[]): Promise<true> =>
  eventually(`${keys.length} answers`, async () => {
    const found = new Set(await its.keys(output));
    return keys.every((key) => found.has(key)) || undefined;
  });

const committed = async (input: string): Promise<{ offset: string; metadata: string }> => {
  const [found] = await admin.fetchOffsets({ groupId: `${input}.group`, topics: [input] });
  const [partition] = found?.partitions ?? [];
  return { offset: partition?.offset ?? "", metadata: partition?.metadata ?? "" };
};

test(
  "a committed offset beyond the end of the log: what comes afterwards is answered",
  { timeout: 120_000 },
  async () => {
    const [input, output] = [await its.topic(), await its.topic()];
    await send(input, 0, 50);
    const groupId = `${input}.group`;
    await admin.setOffsets({ groupId, topic: input, partitions: [{ partition: 0, offset: "60" }] });
    const stage = await start(input, output);
    await eventually("the partition", () => Promise.resolve(stage.health().partitions === 1 || undefined));
    const keys = await send(input, 100, 20);
    await answered(output, keys);
    expect((await its.keys(output)).sort()).toEqual(keys.sort());
    expect(stage.health()).toMatchObject({ resets: 1 });
    await stage.stop();
  },
);

test("a topic that is made again under a running stage is read from its beginning", { timeout: 120_000 }, async () => {
  const [input, output] = [await its.topic(), await its.topic()];
  const stage = await start(input, output);
  await answered(output, await send(input, 0, 30));
  const before = splitOrigin((await eventually("a commit", () => committed(input))).metadata).origin;
  expect(before.cluster).not.toBe("");
  expect(before.topicId).toHaveLength(22);

  await admin.deleteTopics({ topics: [input] });
  const made = (): Promise<true | undefined> =>
    admin
      .createTopics({ waitForLeaders: true, topics: [{ topic: input, numPartitions: 1, replicationFactor: 1 }] })
      .then((done) => done || undefined);
  await eventually("the topic again", made);
  // More than before: every offset that the stage has stands in the new topic, too.
  const keys = await eventually("the new topic's leader", () => send(input, 1_000, 40));
  await answered(output, keys);
  const after = await eventually("a commit on the new topic", async () => {
    const { origin } = splitOrigin((await committed(input)).metadata);
    return origin.topicId === before.topicId || origin.topicId === "" ? undefined : origin;
  });
  expect(after.cluster).toBe(before.cluster);
  await stage.stop();
});

test("a plausible position of another topic with the same name is not followed", { timeout: 120_000 }, async () => {
  const [input, output] = [await its.topic(), await its.topic()];
  const keys = await send(input, 0, 30);
  const stale = withOrigin({ cluster: "", topicId: "AAAAAAAAAAAAAAAAAAAAAQ" }, "");
  const { consumer, member } = await its.join(`${input}.group`, input);
  const producer = its.kafka.transactionalProducer(`${input}.former`);
  await producer.initialise();
  const partitions = [{ partition: 0, offset: "20", metadata: stale }];
  await producer.transact({ group: `${input}.group`, member, offsets: [{ topic: input, partitions }], messages: [] });
  await Promise.all([producer.close(), consumer.stop()]);
  expect((await committed(input)).metadata).toBe(stale);
  const stage = await start(input, output);
  await answered(output, keys);
  expect((await its.keys(output)).sort()).toEqual(keys.sort());
  await stage.stop();
});
