// Tables and tails on topics that hold whatever Kafka can: they read what can be read, pass the
// rest with a log and a count, and reach the end.
import { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import type { Admin, Producer } from "kafkajs";
import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeAll, expect, test } from "vitest";
import { configSchema } from "../../config/schema.ts";
import { createKafka } from "../../connections/kafka/kafka.ts";
import type { Kafka, RawRecord, UnreadableBatch } from "../../connections/kafka/port.ts";
import { batchBytes, plainBatch, plainRecord, withChecksum } from "../../connections/kafka/protocol/batches.testing.ts";
import { damage } from "../support/damage.ts";
import { startJavaProducer, type JavaProducer } from "../support/java-producer.ts";
import { createTestKafka, message, type TestKafka } from "../support/kafka.ts";
import { createRawProducer } from "../support/produce-raw.ts";
import { testStack } from "../support/stack.ts";
import { eventually } from "../support/system.ts";

let its: TestKafka;
let kafka: Kafka;
let java: JavaProducer;
let raw: ReturnType<typeof createRawProducer>;
let transactional: Producer;
let admin: Admin;
const passed: UnreadableBatch[] = [];
const lines: Record<string, unknown>[] = [];

beforeAll(async () => {
  its = createTestKafka();
  java = await startJavaProducer();
  raw = createRawProducer(its.client);
  admin = its.client.admin();
  transactional = its.client.producer({ transactionalId: uuidv7(), idempotent: true, maxInFlightRequests: 1 });
  await Promise.all([admin.connect(), transactional.connect()]);
  const sink = new Writable({
    write(line: Buffer, _encoding, done) {
      lines.push(JSON.parse(line.toString()) as Record<string, unknown>);
      done();
    },
  });
  kafka = createKafka({
    ...{ brokers: testStack().brokers, clientId: "reader", config: configSchema.shape.kafka.parse({}) },
    onUnreadable: (batch) => passed.push(batch),
    log: pino({ level: "warn" }, sink),
  });
}, 180_000);
afterAll(async () => {
  await Promise.all([java.stop(), raw.close(), transactional.disconnect(), admin.disconnect()]);
  await Promise.all([kafka.close(), its.close()]);
});

/** Everything of a topic, by a reader that has reached its end. */
async function whole(topic: string): Promise<RawRecord[]> {
  const all: RawRecord[] = [];
  const reader = kafka.readTopic(topic, (records) => void all.push(...records));
  await reader.caughtUp;
  await reader.stop();
  return all;
}
const values = (records: RawRecord[]): string[] => records.map(({ value }) => value?.toString() ?? "null");

test("a table reads every codec, and passes batches that can't be read with a log and a count", async () => {
  const topic = await its.topic();
  for (const codec of ["gzip", "snappy", "lz4", "zstd"] as const)
    await java.send({ topic, codec, end: "idempotent", records: [{ partition: 0, value: Buffer.from(codec) }] });
  for (const number of [0, 1, 2, 3, 4])
    await raw.send(topic, 0, batchBytes(plainBatch(0, [Buffer.from(`own ${number}`)], number)));
  for (const change of [
    (batch: Buffer) => (batch[70]! ^= 1),
    (batch: Buffer) => withChecksum(batch.fill(0x17, 22, 23)),
  ]) {
    const transaction = await transactional.transaction();
    const messages = ["lost", "as well"].map((value) => ({ partition: 0, value }));
    const [sent] = await transaction.send({ topic, messages });
    await damage(topic, 0, Number(sent?.baseOffset), change);
    await transaction.commit();
  }
  await java.send({ topic, codec: "none", end: "plain", records: [{ partition: 0, value: Buffer.from("last") }] });
  const own = [0, 1, 2, 3, 4].map((number) => `own ${number}`);
  expect(values(await whole(topic))).toEqual(["gzip", "snappy", "lz4", "zstd", ...own, "last"]);
  expect(passed.filter((one) => one.topic === topic).map(({ code }) => code)).toEqual([
    "broken_checksum",
    "unknown_codec",
  ]);
  const logged = lines.filter((line) => line.topic === topic && line.code !== undefined);
  expect(logged).toMatchObject([
    { first: 9, last: 10, code: "broken_checksum" },
    { first: 12, last: 13, code: "unknown_codec" },
  ]);
});

test("control batches, aborted and committed transactions, and times of both kinds", async () => {
  const settings = { "message.timestamp.after.max.ms": "9223372036854775807" };
  for (const type of ["CreateTime", "LogAppendTime"]) {
    const topic = await its.topic(1, { ...settings, "message.timestamp.type": type });
    const before = Date.now();
    const one = (value: string) => [{ partition: 0, value: Buffer.from(value), timestamp: 5 }];
    await java.send({ topic, codec: "lz4", end: "abort", records: one("aborted") });
    await java.send({ topic, codec: "zstd", end: "commit", records: one("committed") });
    await java.send({ topic, codec: "none", end: "abort", records: one("aborted, too") });
    const far = { ...plainBatch(0, [Buffer.from("far")]), firstTimestamp: 2n ** 62n, maxTimestamp: 2n ** 62n };
    const none = { ...plainBatch(0, [Buffer.from("none")]), firstTimestamp: -1n, maxTimestamp: -1n };
    for (const batch of [far, none]) await raw.send(topic, 0, batchBytes(batch));
    const read = await whole(topic);
    expect(values(read)).toEqual(["committed", "far", "none"]);
    const times = read.map(({ timestamp }) => timestamp);
    if (type === "CreateTime") expect(times).toEqual([5, 8.64e15, -1]);
    else for (const time of times) expect(Math.abs(time - before)).toBeLessThan(3_600_000);
    expect(read.map(({ appended }) => appended)).toEqual(times.map(() => type === "LogAppendTime"));
  }
});

test("what compaction has emptied is passed: a table reaches its end", async () => {
  const topic = await its.topic(1, {
    ...{ "cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.001" },
    ...{ "max.compaction.lag.ms": "100", "delete.retention.ms": "0" },
  });
  const producer = its.kafka.plainProducer();
  for (let round = 0; round < 5; round++)
    await producer.send([message(topic, "a", 0, `a${round}`), message(topic, "b", 0, `b${round}`)]);
  // An idempotent producer's last batch stays, empty, for its sequence number.
  const keyed = (key: string, value: string) => ({ partition: 0, key: Buffer.from(key), value: Buffer.from(value) });
  await java.send({ topic, codec: "gzip", end: "idempotent", records: [keyed("a", "a5"), keyed("b", "b5")] });
  await eventually("compaction", async () => {
    await producer.send([message(topic, "a", 0, "last"), message(topic, "b", 0, "last")]);
    return (await whole(topic)).length <= 6 ? true : undefined;
  });
  await producer.close();
  const [table, [end]] = [new Map<string, string>(), await admin.fetchTopicOffsets(topic)];
  for (const { key, value } of await whole(topic)) table.set(key?.toString() ?? "", value?.toString() ?? "");
  expect([...table].sort()).toEqual([
    ["a", "last"],
    ["b", "last"],
  ]);
  expect(Number(end?.high)).toBeGreaterThan(12);
});

test("a record with thousands of headers, an empty name among them, and 1 MB keys", async () => {
  const topic = await its.topic(1, { "max.message.bytes": "16777216" });
  const headers = Array.from({ length: 9_000 }, (_, index) => ({
    name: Buffer.from(index === 5 ? "" : `h${index}`),
    value: null,
  }));
  await raw.send(topic, 0, batchBytes({ ...plainBatch(0, []), records: [{ ...plainRecord(0, null), headers }] }));
  await java.send({
    topic,
    codec: "snappy",
    end: "plain",
    records: [{ partition: 0, key: Buffer.alloc(1_000_000, 1), value: null }],
  });
  const [many, large] = await whole(topic);
  expect(many?.headerList).toHaveLength(9_000);
  expect([large?.key?.length, large?.value]).toEqual([1_000_000, null]);
});

// Meanwhile fetches fail, and are repeated after longer and longer pauses.
test.each([0, 200, 330, 480])(
  "a topic that is deleted and made anew after %i ms is read from its beginning",
  async (ms) => {
    const topic = await its.topic();
    const producer = its.kafka.plainProducer();
    const numbered = (name: string) => Array.from({ length: 10 }, (_, index) => message(topic, `${name}${index}`));
    await producer.send(numbered("old "));
    const all: string[] = [];
    const reader = kafka.readTopic(topic, (records) => void all.push(...values(records)));
    await reader.caughtUp;
    await admin.deleteTopics({ topics: [topic] });
    const again = { topic, numPartitions: 1, replicationFactor: 1 };
    await eventually("the topic to be gone", async () =>
      (await admin.listTopics()).includes(topic) ? undefined : true,
    );
    await sleep(ms);
    await admin.createTopics({ waitForLeaders: true, topics: [again] });
    await eventually("records on it", () =>
      producer.send([...numbered("new "), ...numbered("newer ")]).then(() => true),
    );
    await eventually("all of them", () =>
      Promise.resolve(all.includes("new 0") && all.includes("newer 9") ? true : undefined),
    );
    expect(all.slice(0, 10)).toEqual(numbered("old ").map(({ key }) => key));
    expect(new Set(all.slice(10))).toEqual(new Set([...numbered("new "), ...numbered("newer ")].map(({ key }) => key)));
    await Promise.all([reader.stop(), producer.close()]);
  },
);
