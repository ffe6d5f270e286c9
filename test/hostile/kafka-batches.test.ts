// What any Kafka client may write on a topic of requests, by Kafka's own client and by our own
// encoder: every codec, every legal record, and batches that can't be read. Each request is
// answered once, everything else is one dead letter, and the partitions beside it go on.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import type { Producer } from "kafkajs";
import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKafkaClient } from "../../connections/kafka/client.ts";
import { batchBytes, plainBatch, withChecksum } from "../../connections/kafka/protocol/batches.testing.ts";
import { startStages, type StageName } from "../../pipelines/up.ts";
import { plainRequest } from "../../schemas/plain-request.ts";
import type { DeadLetter, Request } from "../../schemas/types.ts";
import { damage } from "../support/damage.ts";
import { follow } from "../support/follow.ts";
import { startJavaProducer, type JavaProducer, type JavaRecord, type JavaSend } from "../support/java-producer.ts";
import { createRawProducer } from "../support/produce-raw.ts";
import { testStack } from "../support/stack.ts";
import { eventually, startSystem, type TestSystem } from "../support/system.ts";

const partitions = 4;
const stages: readonly StageName[] = ["plan", "record", "intake", "outlet"];
let folder: string;
let system: TestSystem;
let java: JavaProducer;
let raw: ReturnType<typeof createRawProducer>;
let transactional: Producer;
const letters: DeadLetter[] = [];
let stopLetters: () => Promise<void>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-batches-"));
  const file = join(folder, "log.jsonl");
  await writeFile(file, JSON.stringify({ request: "hello", response: "world" }));
  const tenants = { acme: { principal: "User:acme" }, beta: { principal: "User:beta" } };
  [java, system] = await Promise.all([
    startJavaProducer(),
    startSystem({ arms: [{ name: "recorded", type: "recorded", file }], tenants, kafka: { partitions } }, { stages }),
  ]);
  const { config, log } = system.session;
  const client = createKafkaClient({ brokers: testStack().brokers, clientId: "raw", config: config.kafka, log });
  raw = createRawProducer(client);
  transactional = client.producer({ transactionalId: uuidv7(), idempotent: true, maxInFlightRequests: 1 });
  await transactional.connect();
  const tail = await follow(system.session, "dead-letters", (letter) => letters.push(letter));
  stopLetters = () => tail.stop();
}, 180_000);
afterAll(async () => {
  await Promise.all([stopLetters(), java.stop(), raw.close(), transactional.disconnect()]);
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

const encoded = (id: string, more: Partial<Request> = {}): Buffer =>
  system.session.codec.encode("requests", plainRequest("hello", { id, createdAt: Date.now(), ...more }));
const letterAt = (topic: string, partition: number, offset: number): Promise<DeadLetter> =>
  eventually(`the dead letter of ${topic}-${partition} at ${offset}`, () =>
    Promise.resolve(letters.find((one) => one.topic === topic && one.partition === partition && one.offset === offset)),
  );
/** All of them once, and as they should be. */
const answered = async (ids: readonly string[]): Promise<void> => {
  const answers = await Promise.all(ids.map((id) => system.response(id)));
  expect(answers.map(({ status, text }) => [status, text])).toEqual(ids.map(() => ["ok", "world"]));
};
/** A request on every partition of a topic. */
const allGoOn = async (topic: string = system.session.topic("requests"), tenant = "default"): Promise<void> => {
  const ids = Array.from({ length: partitions }, () => uuidv7());
  const messages = ids.map((id, partition) => ({ topic, partition, key: id, value: encoded(id, { tenant }) }));
  const producer = system.session.kafka.plainProducer();
  await producer.send(messages);
  await producer.close();
  await answered(ids);
};

const codecs = ["none", "gzip", "snappy", "lz4", "zstd"] as const;

test("requests in every codec are answered: Kafka's client, our encoder, a tenant's topic", async () => {
  const ids: string[] = [];
  const next = (): string => {
    const id = uuidv7();
    ids.push(id);
    return id;
  };
  const { topic } = system.session;
  for (const [number, codec] of codecs.entries()) {
    const records = Array.from({ length: 50 }, (_, index) => ({
      partition: index % partitions,
      value: encoded(next()),
    }));
    await java.send({ topic: topic("requests"), codec, end: "idempotent", records });
    const own = { partition: 0, value: encoded(next(), { tenant: "acme" }) };
    await java.send({ topic: topic("tenant-requests", "acme"), codec, end: "plain", records: [own] });
    await raw.send(topic("requests"), 1, batchBytes(plainBatch(0, [encoded(next()), encoded(next())], number)));
  }
  await answered(ids);
  expect(letters).toEqual([]);
});

const header = fc.tuple(
  fc.constantFrom("nothing", "again", "again", "__proto__", "constructor", "traceparent", ""),
  fc.option(fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes))),
);
/** What the record is, its key, its headers, its timestamp. */
const shape = fc.record({
  kind: fc.constantFrom("request", "request", "garbage", "empty", "tombstone"),
  key: fc.constantFrom("none", "empty", "bytes", "none", "empty", "bytes", "bytes", "large"),
  headers: fc.array(header, { maxLength: 5 }),
  timestamp: fc.constantFrom(undefined, 0, 1, Date.now(), 4_000_000_000_000),
});
const sends = fc.record({
  codec: fc.constantFrom(...codecs),
  end: fc.constantFrom<JavaSend["end"]>("plain", "idempotent", "commit", "commit", "abort", "abort"),
  records: fc.array(fc.tuple(shape, fc.nat(partitions - 1)), { minLength: 2, maxLength: 12 }),
});
const keys = { none: null, empty: Buffer.alloc(0), bytes: Buffer.from([0, 255, 1]), large: Buffer.alloc(1_000_000, 7) };

test("legal records of every shape: requests are answered once, the rest are dead letters as they were", async () => {
  const topic = system.session.topic("requests");
  const seed = Number(process.env.PRECEDENT_SEED ?? 33);
  const valueOf = { garbage: Buffer.from("garbage"), empty: Buffer.alloc(0), tombstone: null };
  const [wanted, never]: [string[], string[]] = [[], []];
  const dead: { partition: number; offset: number; sent: JavaRecord }[] = [];
  for (const { codec, end, records } of fc.sample(sends, { numRuns: 25, seed })) {
    const built = records.map(([{ kind, key, headers, timestamp }, partition]) => {
      const id = uuidv7();
      const value = kind === "request" ? encoded(id) : valueOf[kind];
      const record: JavaRecord = {
        partition,
        key: keys[key],
        value,
        headers,
        ...(timestamp === undefined ? {} : { timestamp }),
      };
      return { id, kind, record };
    });
    const offsets = await java.send({ topic, codec, end, records: built.map(({ record }) => record) });
    for (const [index, { id, kind, record }] of built.entries()) {
      expect(offsets[index]).toBeTypeOf("number");
      if (kind === "request") (end === "abort" ? never : wanted).push(id);
      else if (end !== "abort")
        dead.push({ partition: record.partition, offset: Number(offsets[index]), sent: record });
    }
  }
  expect(wanted.length).toBeGreaterThan(15);
  expect(never.length).toBeGreaterThan(5);
  await answered(wanted);
  for (const { partition, offset, sent } of dead) {
    const letter = await letterAt(topic, partition, offset);
    expect(letter).toMatchObject({ stage: "plan", code: "undecodable", fullBytes: null, firstOffset: null });
    // As text: to compare a million bytes one by one takes seconds.
    expect([letter.key, letter.value].map(textOf)).toEqual([sent.key, sent.value].map(textOf));
    expect(headersOf(letter)).toEqual(listed(sent.headers ?? []));
  }
  await allGoOn();
  expect(never.filter((id) => system.responses.has(id))).toEqual([]);
  expect([...system.responses.values()].filter((all) => all.length !== 1)).toEqual([]);
  const rows = await eventually("rows of dead letters", async () => {
    const found = await system.session.clickhouse.query<{ headers: [string, string | null][] }>(
      "SELECT headers_list_base64 AS headers FROM dead_letters FINAL WHERE source_topic = {topic:String}",
      { topic },
    );
    return found.length === dead.length ? found : undefined;
  });
  const expected = dead.filter(({ sent }) => isListed(sent.headers ?? []));
  expect(rows.filter(({ headers }) => headers.length > 0)).toHaveLength(expected.length);
}, 180_000);

const textOf = (bytes: Buffer | null | undefined): string | undefined => bytes?.toString("base64");

type Headers = readonly (readonly [string, Buffer | null])[];
/** Null values, repetitions and one name: what an object of headers can't say. */
const isListed = (headers: Headers): boolean =>
  headers.some(([name]) => name === "__proto__") ||
  new Set(headers.flatMap(([name, value]) => (value === null ? [] : [name]))).size < headers.length;
const listed = (headers: Headers): unknown =>
  isListed(headers) ? headers : Object.fromEntries(headers.map(([name, value]) => [`=${name}`, value]));
const headersOf = ({ headers, headerList }: DeadLetter): unknown =>
  headerList.length > 0
    ? headerList.map(({ name, value }) => [name, value])
    : Object.fromEntries(Object.entries(headers).map(([name, value]) => [`=${name}`, value]));

/** Writes requests in a transaction of one batch, changes it on the broker's disk, then commits. */
async function damaged(topic: string, partition: number, change: (batch: Buffer) => unknown) {
  const ids = [uuidv7(), uuidv7(), uuidv7()];
  const transaction = await transactional.transaction();
  const messages = ids.map((id) => ({ partition, key: id, value: encoded(id) }));
  const [sent] = await transaction.send({ topic, messages });
  const first = Number(sent?.baseOffset);
  await damage(topic, partition, first, change);
  await transaction.commit();
  return { first, last: first + 2, ids };
}
const faults = [
  ["a flipped bit", "broken_checksum", (batch: Buffer) => (batch[100]! ^= 1)],
  ["a codec of the future", "unknown_codec", (batch: Buffer) => withChecksum(batch.fill(0x17, 22, 23))],
  ["zstd that is none", "corrupt_batch", (batch: Buffer) => withChecksum(batch.fill(0x14, 22, 23))],
  ["another format", "unknown_format", (batch: Buffer) => (batch[16] = 9)],
] as const;

test.each(faults)("a batch with %s: one dead letter with its offsets and bytes", async (_what, code, change) => {
  const { topic, clickhouse } = system.session;
  const requests = topic("requests");
  let bytes = Buffer.alloc(0);
  const { first, last, ids } = await damaged(requests, 2, (batch) => {
    change(batch);
    bytes = Buffer.from(batch);
  });
  const letter = await letterAt(requests, 2, last);
  expect(letter).toMatchObject({ stage: "plan", code, partition: 2, firstOffset: first, offset: last });
  expect(letter.value).toEqual(bytes);
  await allGoOn();
  const [row] = await eventually("its row", async () => {
    const found = await clickhouse.query<{ first: number; code: string }>(
      "SELECT source_first_offset AS first, code FROM dead_letters FINAL WHERE source_topic = {t:String} AND source_partition = 2 AND source_offset = {o:UInt64}",
      { t: requests, o: last },
    );
    return found.length === 1 ? found : undefined;
  });
  expect(row).toEqual({ code, first });
  expect(letters.filter((one) => one.code === code)).toHaveLength(1);
  expect(ids.filter((id) => system.responses.has(id))).toEqual([]);
});

test("a tenant's unreadable batch is that tenant's dead letter; the other tenant's requests are answered", async () => {
  const { topic } = system.session;
  const own = topic("tenant-requests", "acme");
  const { first, last } = await damaged(own, 0, (batch) => (batch[100]! ^= 1));
  expect(await letterAt(own, 0, last)).toMatchObject({ stage: "intake-requests", tenant: "acme", firstOffset: first });
  await Promise.all([allGoOn(topic("tenant-requests", "beta"), "beta"), allGoOn(own, "acme")]);
});

test("what was passed is not passed again: the dead letter and the position are one transaction", async () => {
  const count = letters.length;
  await system.stages.stop();
  Object.assign(system, {
    stages: await startStages(system.session, { stages }),
  });
  await allGoOn();
  expect(letters.length).toBe(count);
});
