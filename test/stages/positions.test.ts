// Positions that can't be right, on a real broker: a committed offset beyond the end of the log
// (what a power loss or an unclean election leaves behind), a topic that is deleted and made again
// under a running stage, and a committed position of another topic. What is acknowledged afterwards
// is answered.
import { afterAll, beforeAll, expect, test } from "vitest";
import { randomUUID } from "node:crypto";
import type { Admin } from "kafkajs";
import { splitOrigin, withOrigin } from "../../algorithms/identity/origin.ts";
import { createLog } from "../../runtime/log.ts";
import { createMetricsRegistry, createStageMetrics } from "../../runtime/metrics/stage.ts";
import { createStage, type Stage } from "../../runtime/stage.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { createSinkSource } from "../../connections/kafka/sink-source.ts";
import { testingRecords } from "../../operators/decode/records.testing.ts";
import { type MigratedDatabase, startDatabase } from "../support/clickhouse.ts";
import { createTestKafka, message, type TestKafka } from "../support/kafka.ts";
import { recordFrom } from "../support/record.ts";
import { eventually } from "../support/system.ts";

let its: TestKafka;
let admin: Admin;
let database: MigratedDatabase | undefined;

beforeAll(async () => {
  its = createTestKafka();
  admin = its.client.admin();
  await admin.connect();
  database = await startDatabase("positions_test");
}, 60_000);
afterAll(async () => {
  await database?.remove();
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

test("a process that has asked nothing else learns where its topics come from", async () => {
  const topic = await its.topic();
  const alone = createTestKafka();
  const consumer = alone.kafka.groupConsumer({
    group: `${topic}.alone`,
    topics: [topic],
    instance: "a",
    sessionTimeoutMs: 6_000,
  });
  const origins = await consumer.origins([topic]);
  expect(origins.get(topic)).toMatchObject({
    cluster: expect.stringMatching(/./),
    topicId: expect.stringMatching(/./),
  });
  await alone.close();
});

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

// record keeps its positions in ClickHouse: the same troubles there.

const stored = async (topic: string): Promise<string[]> => {
  const rows = await clickhouse().query<{ id: string }>(
    "SELECT feedback_id AS id FROM feedback FINAL WHERE topic = {topic:String} ORDER BY id",
    { topic },
  );
  return rows.map(({ id }) => id);
};
const clickhouse = (): ClickHouse => {
  if (database === undefined) throw new Error("no ClickHouse");
  return database.clickhouse;
};

/** A topic `feedback` of its own, under its prefix. */
async function feedbackTopic(): Promise<{ prefix: string; topic: string; make: () => Promise<true> }> {
  const prefix = `positions-${randomUUID()}.`;
  const topic = `${prefix}feedback`;
  const make = (): Promise<true> =>
    eventually("the topic", () =>
      admin
        .createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions: 1, replicationFactor: 1 }] })
        .then((done) => done || undefined),
    );
  await make();
  return { prefix, topic, make };
}

/** Sends so many feedbacks with ids of their own; resolves to the ids. */
async function give(topic: string, name: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, i) => `${name}-${String(i).padStart(3, "0")}`);
  const producer = its.kafka.plainProducer();
  const values = ids.map((id) => JSON.stringify({ ...testingRecords.feedback, id }));
  await eventually("the topic's leader", () =>
    producer.send(values.map((value, i) => message(topic, ids[i] ?? "", 0, value))).then(
      () => true,
      () => undefined,
    ),
  );
  await producer.close();
  return ids;
}

function startRecord(prefix: string, on: ClickHouse = clickhouse(), limits: { batchRows?: number } = {}) {
  const topic = `${prefix}feedback`;
  const resets: string[] = [];
  let handed = 0;
  const consumer = its.kafka.groupConsumer({
    ...{ group: `${prefix}record`, topics: [topic], instance: randomUUID(), sessionTimeoutMs: 6_000 },
  });
  const source = createSinkSource(consumer, createLog({ level: "silent" }), (reason) => void resets.push(reason));
  const counting = {
    ...source,
    run: (handlers: Parameters<typeof source.run>[0]) =>
      source.run({
        ...handlers,
        onRecords(name, partition, records, isStale) {
          handed += records.length;
          return handlers.onRecords(name, partition, records, isStale);
        },
      }),
  };
  const { stage } = recordFrom(on, counting, limits, prefix);
  void stage.run();
  return { stage, source, resets, handed: () => handed };
}

const stands = (topic: string, ids: readonly string[]): Promise<true> =>
  eventually(`${ids.length} rows`, async () => {
    const found = new Set(await stored(topic));
    return ids.every((id) => found.has(id)) || undefined;
  });

async function remake({ topic, make }: { topic: string; make: () => Promise<true> }): Promise<void> {
  await admin.deleteTopics({ topics: [topic] });
  await make();
}

test(
  "record: a topic that was made again while it was away, and has grown past what is stored, is read whole",
  { timeout: 120_000 },
  async () => {
    const made = await feedbackTopic();
    const first = startRecord(made.prefix);
    const before = await give(made.topic, "before", 20);
    await stands(made.topic, before);
    await first.stage.stop();
    await remake(made);
    const after = await give(made.topic, "after", 50);

    // Killed in the middle: the first rows of the new topic are stored, then nothing is any more.
    let inserts = 0;
    const dying: ClickHouse = {
      ...clickhouse(),
      insertLines: (table, rows) =>
        ++inserts > 2 ? Promise.reject(new Error("killed")) : clickhouse().insertLines(table, rows),
    };
    const killed = startRecord(made.prefix, dying, { batchRows: 5 });
    await eventually("the third insert", () => Promise.resolve(inserts > 2 || undefined));
    await killed.stage.stop();
    const left = await stored(made.topic);
    expect(left.length).toBeLessThan(70);
    expect(left).toContain(after[0]);
    expect(killed.resets).toEqual(["another_topic"]);

    const second = startRecord(made.prefix);
    await stands(made.topic, [...before, ...after]);
    expect(await stored(made.topic)).toEqual([...before, ...after].sort());
    expect(second.resets).toEqual([]);
    await second.stage.stop();
  },
);

test("record: a topic that is made again under it is read whole", { timeout: 120_000 }, async () => {
  const made = await feedbackTopic();
  const running = startRecord(made.prefix);
  await stands(made.topic, await give(made.topic, "before", 20));
  await remake(made);
  await stands(made.topic, await give(made.topic, "after", 50));
  expect(running.resets).toContain("another_topic");
  await running.stage.stop();
});

test("record: rows from before origins were stored are gone on from", { timeout: 120_000 }, async () => {
  const made = await feedbackTopic();
  const ids = await give(made.topic, "old", 30);
  const row = { request_id: "r", tenant: "t", kind: "thumbs", source: "person", created_at: "2026-03-01 12:00:00.000" };
  await clickhouse().insert(
    "feedback",
    ids.map((id, i) => ({ ...row, feedback_id: id, topic: made.topic, kafka_partition: 0, kafka_offset: i })),
  );
  const running = startRecord(made.prefix);
  const more = await give(made.topic, "new", 10);
  await stands(made.topic, [...ids, ...more]);
  expect([running.handed(), running.resets]).toEqual([10, []]);
  const origins = await clickhouse().query<{ rows: number }>(
    "SELECT count() AS rows FROM feedback WHERE topic = {topic:String} GROUP BY kafka_origin = '' ORDER BY rows",
    { topic: made.topic },
  );
  expect(origins.map(({ rows }) => Number(rows))).toEqual([10, 30]);
  await running.stage.stop();
});
