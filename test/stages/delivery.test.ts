// What exactly-once stands on, on a real broker: aborted records are never delivered, a
// predecessor's open transaction ends at once, a zombie writes nothing, positions are read stably,
// and a refused transaction leaves nothing behind.
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Kafka as KafkaClient, Producer } from "kafkajs";
import { TransactionAborted } from "../../connections/kafka/errors.ts";
import type { Transaction, TransactionalProducer } from "../../connections/kafka/port.ts";
import { decodeFinished } from "../../runtime/finished-offsets.ts";
import { createLog } from "../../runtime/log.ts";
import { createMetricsRegistry, createStageMetrics } from "../../runtime/metrics/stage.ts";
import { createStage, type Stage } from "../../runtime/stage.ts";
import { noBrokerDefects } from "../support/kafka-log.ts";
import { createTestKafka, message, type TestKafka } from "../support/kafka.ts";
import { testStack } from "../support/stack.ts";
import { eventually } from "../support/system.ts";

let its: TestKafka;
const producers: { close(): Promise<void> }[] = [];

noBrokerDefects(() => testStack().folder);
beforeAll(() => {
  its = createTestKafka();
});
afterAll(async () => {
  await Promise.allSettled(producers.map((producer) => producer.close()));
  await its.close();
});

async function transactional(id: string): Promise<TransactionalProducer> {
  const producer = its.kafka.transactionalProducer(id);
  producers.push(producer);
  await producer.initialise();
  return producer;
}
async function raw(client: KafkaClient, transactionalId: string): Promise<Producer> {
  const producer = client.producer({
    transactionalId,
    idempotent: true,
    maxInFlightRequests: 1,
    transactionTimeout: 60_000,
  });
  producers.push({ close: () => producer.disconnect() });
  await producer.connect();
  return producer;
}
const offsetsOf = (topic: string, offset: number, metadata = ""): Transaction["offsets"] => [
  { topic, partitions: [{ partition: 0, offset: String(offset), metadata }] },
];

describe("aborted records", () => {
  let topic: string;
  beforeAll(async () => {
    topic = await its.topic();
    const a = await raw(its.client, `${topic}.a`);
    const b = await raw(its.client, `${topic}.b`);
    const send = (key: string) => ({ topic, messages: [{ key, value: key }] });
    // b begins first and ends last: the broker lists the two in the order of their ends.
    const tb = await b.transaction();
    await tb.send(send("B-aborted"));
    const ta = await a.transaction();
    await ta.send(send("A-aborted"));
    await ta.abort();
    // An abort is acknowledged before its markers are written; that a's next transaction gets in
    // says that they are.
    const tc = await a.transaction();
    await tc.send(send("A-committed"));
    await tb.abort();
    await tc.commit();
  });

  test("of overlapping transactions are never delivered", async () => {
    expect(await its.keys(topic)).toEqual(["A-committed"]);
  });

  test("are delivered by kafkajs without our patch, so the test above means something", async () => {
    const [end] = await its.kafka.lag(`${topic}.none`, topic);
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["tools/bin/run.mjs", "test/support/unpatched-reader.ts", testStack().brokers[0] ?? "", topic, String(end?.end)],
      { timeout: 60_000 },
    );
    expect(JSON.parse(stdout)).toEqual(["B-aborted", "A-committed"]);
  });
});

test("initialising with the same id ends a predecessor's open transaction: readers get on", async () => {
  const topic = await its.topic();
  const predecessor = await raw(its.client, `${topic}.id`);
  await (await predecessor.transaction()).send({ topic, messages: [{ key: "open", value: "x" }] });
  const plain = its.kafka.plainProducer();
  producers.push(plain);
  await plain.send([message(topic, "behind it")]);

  const seen: string[] = [];
  const reader = its.kafka.readTopic(topic, (records) => void seen.push(...records.map(({ key }) => String(key))));
  let caughtUp = false;
  const reading = reader.caughtUp.then(() => (caughtUp = true));
  await sleep(2_000);
  // To a read-committed reader the topic ends before the open transaction; that there is more to
  // come it knows all the same.
  expect(caughtUp).toBe(false);
  expect([(await its.kafka.lag(`${topic}.none`, topic))[0]?.end, seen]).toEqual([0, []]);

  await transactional(`${topic}.id`);
  const got = (): Promise<true | undefined> => Promise.resolve(seen.length > 0 ? true : undefined);
  await eventually("what was produced behind the transaction, well before its timeout of 60 s", got, 30_000);
  expect(seen).toEqual(["behind it"]);
  await reading;
  await reader.stop();
});

test("a zombie's commit with an old generation is refused and writes nothing", async () => {
  const [input, output] = [await its.topic(2), await its.topic()];
  const group = `${input}.group`;
  const first = await its.join(group, input, "one");
  const producer = await transactional(`${input}.one`);
  const work = (offset: number, key: string): Transaction => ({
    group,
    member: first.member,
    offsets: offsetsOf(input, offset),
    messages: [message(output, key)],
  });
  await producer.transact(work(1, "as a member"));
  await its.join(group, input, "two"); // a new generation
  const refused = await eventually("the refusal", () =>
    producer.transact(work(2, "as a zombie")).then(
      () => undefined, // the generation had not changed yet
      (error: unknown) => error,
    ),
  );
  expect(refused).toBeInstanceOf(TransactionAborted);
  expect(refused).toMatchObject({ fenced: true });
  const before = await its.kafka.lag(group, input);
  await expect(producer.transact(work(99, "as a zombie, later"))).rejects.toMatchObject({ fenced: true });
  expect(await its.kafka.lag(group, input)).toEqual(before);
  expect(await its.keys(output)).not.toContain("as a zombie, later");
});

test("a member that left is refused", async () => {
  const input = await its.topic();
  const group = `${input}.group`;
  const { consumer, member } = await its.join(group, input);
  const producer = await transactional(`${input}.one`);
  await consumer.stop();
  const work = { group, member, offsets: offsetsOf(input, 5), messages: [] };
  await expect(producer.transact(work)).rejects.toMatchObject({ name: "TransactionAborted", fenced: true });
});

test("positions are read once no transaction is open on them, others' open transactions do not matter", async () => {
  const input = await its.topic(2);
  const group = `${input}.group`;
  const { consumer, partitions } = await its.join(group, input);
  expect(partitions).toHaveLength(2);
  const open = await raw(its.client, `${input}.open`);
  const transaction = await open.transaction();
  await transaction.sendOffsets({
    consumerGroupId: group,
    topics: [{ topic: input, partitions: [{ partition: 0, offset: "7" }] }],
  });
  const [zero, one] = [
    { topic: input, partition: 0 },
    { topic: input, partition: 1 },
  ];
  await expect(consumer.committed([zero])).rejects.toThrow(/unstable|open transaction/i);
  expect(await consumer.committed([one])).toMatchObject([{ partition: 1, offset: undefined }]);
  await transaction.commit();
  const stable = await eventually("the stable offset", () => consumer.committed([zero]));
  expect(stable).toMatchObject([{ offset: 7, beginning: 0 }]);
});

test("after a transaction that the broker refused in part, the same records arrive", async () => {
  const input = await its.topic();
  const output = await its.topic(2, { "max.message.bytes": "2000" });
  const group = `${input}.group`;
  const { member } = await its.join(group, input);
  const producer = await transactional(`${input}.one`);
  const small = message(output, "small", 0);
  const work = (offset: number, ...messages: Transaction["messages"][number][]): Transaction => ({
    group,
    member,
    offsets: offsetsOf(input, offset),
    messages,
  });
  await expect(producer.transact(work(2, small, message(output, "large", 1, "x".repeat(5_000))))).rejects.toMatchObject(
    {
      name: "TransactionAborted",
      fenced: false,
      cause: { type: "MESSAGE_TOO_LARGE" },
    },
  );
  // With the old sequence number the broker would take it for the aborted one and drop it without a
  // word.
  await producer.transact(work(1, small));
  await producer.transact(work(2, message(output, "next", 0)));
  expect(await its.keys(output)).toEqual(["small", "next"]);
});

describe("a partition", () => {
  const send = (producer: TransactionalProducer, ...messages: Transaction["messages"][number][]): Promise<void> =>
    producer.transact({ group: "", member: { id: "", generation: -1 }, offsets: [], messages });
  const addPartitions = async (topic: string, count: number): Promise<void> => {
    const admin = its.client.admin();
    await admin.connect();
    await admin.createPartitions({ topicPartitions: [{ topic, count }] });
    await admin.disconnect();
  };

  test("that a topic does not have aborts the transaction, and the producer goes on", async () => {
    const output = await its.topic(4);
    const producer = await transactional(`${output}.one`);
    await expect(send(producer, message(output, "beside it", 1), message(output, "beyond", 9))).rejects.toMatchObject({
      name: "TransactionAborted",
      fenced: false,
      cause: { name: "NoSuchPartition", missing: [{ topic: output, partition: 9 }] },
    });
    expect(await its.keys(output)).toEqual([]);
    await send(producer, message(output, "afterwards", 1));
    expect(await its.keys(output)).toEqual(["afterwards"]);
  });

  test("that is added while producers run gets what is sent to it", async () => {
    const output = await its.topic(4);
    const producer = await transactional(`${output}.one`);
    const plain = its.kafka.plainProducer();
    producers.push(plain);
    await send(producer, message(output, "before", 3));
    await plain.send([message(output, "plain, before", 3)]);
    await addPartitions(output, 8);
    await send(producer, message(output, "to a new one", 6), message(output, "to an old one", 3));
    await plain.send([message(output, "plain, to a new one", 7)]);
    await expect(plain.send([message(output, "beyond", 8)])).rejects.toMatchObject({ name: "NoSuchPartition" });
    expect((await its.keys(output)).sort()).toEqual(
      ["before", "plain, before", "to a new one", "to an old one", "plain, to a new one"].sort(),
    );
  });

  test("that a stage's output names and its topic does not have: the output comes once, where its key belongs", async () => {
    const [input, output] = [await its.topic(), await its.topic(4)];
    const plain = its.kafka.plainProducer();
    producers.push(plain);
    await plain.send(Array.from({ length: 5 }, (_, i) => message(input, `r${i}`)));
    const stage = createStage({
      name: "beyond",
      group: `${input}.group`,
      topics: [input],
      transactionalId: `${input}.one`,
      instance: "one",
      sessionTimeoutMs: 6_000,
      limits: { inFlight: 100, inFlightBytes: 1_000_000, drainMs: 500 },
      kafka: its.kafka,
      process: (record, { offset }) =>
        Promise.resolve([message(output, String(record.key), offset === 2 ? 1_000_000 : offset % 4)]),
      rejected: () => Promise.resolve([]),
      metrics: createStageMetrics(createMetricsRegistry(), "beyond"),
      log: createLog({ level: "silent" }),
    });
    await stage.start();
    await eventually("an empty group", async () => {
      const [partition] = await its.kafka.lag(`${input}.group`, input);
      return partition?.committed === 5 ? true : undefined;
    });
    await stage.stop();
    expect((await its.keys(output)).sort()).toEqual(["r0", "r1", "r2", "r3", "r4"]);
  });
});

test("a producer that was fenced says that the outcome is unknown, and works again once it is initialised", async () => {
  const [input, output] = [await its.topic(), await its.topic()];
  const group = `${input}.group`;
  const { member } = await its.join(group, input);
  const former = await transactional(`${input}.one`);
  const latter = await transactional(`${input}.one`);
  const work = (offset: number, key: string) => ({
    group,
    member,
    offsets: offsetsOf(input, offset),
    messages: [message(output, key)],
  });
  await expect(former.transact(work(1, "former"))).rejects.toMatchObject({ name: "TransactionOutcomeUnknown" });
  await latter.transact(work(1, "latter"));
  await former.initialise();
  await former.transact(work(2, "former again"));
  expect(await its.keys(output)).toEqual(["latter", "former again"]);
});

describe("a stage that is stopped with gaps", () => {
  interface Running {
    stage: Stage;
    /** Offsets taken up, and what ends their work. */
    calls: Map<number, () => void>;
  }
  async function start(input: string, output: string, instance: string): Promise<Running> {
    const calls = new Map<number, () => void>();
    const stage = createStage({
      name: "gaps",
      group: `${input}.group`,
      topics: [input],
      transactionalId: `${input}.${instance}`,
      instance,
      sessionTimeoutMs: 6_000,
      limits: { inFlight: 100, inFlightBytes: 1_000_000, drainMs: 500 },
      kafka: its.kafka,
      process: (record, { offset }, signal) =>
        new Promise((resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("lost")));
          calls.set(offset, () => resolve([message(output, String(record.key))]));
        }),
      rejected: () => Promise.resolve([]),
      metrics: createStageMetrics(createMetricsRegistry(), "gaps"),
      log: createLog({ level: "silent" }),
    });
    await stage.start();
    return { stage, calls };
  }
  const taken = ({ calls }: Running, count: number): Promise<true> =>
    eventually(`${count} records`, () => Promise.resolve(calls.size >= count || undefined));

  test("is continued where it was: what was finished is not done again, the rest is", async () => {
    const [input, output] = [await its.topic(), await its.topic()];
    const plain = its.kafka.plainProducer();
    producers.push(plain);
    await plain.send(Array.from({ length: 10 }, (_, i) => message(input, `r${i}`)));
    const first = await start(input, output, "one");
    await taken(first, 10);
    for (const [offset, done] of first.calls) if (offset !== 0 && offset !== 5) done();
    const committed = await eventually("the commit", async () => {
      const [partition] = await its.kafka.lag(`${input}.group`, input);
      return decodeFinished(partition?.metadata ?? "").length === 8 ? partition : undefined;
    });
    expect([committed.committed, decodeFinished(committed.metadata)]).toEqual([0, [1, 2, 3, 4, 6, 7, 8, 9]]);
    await first.stage.stop();

    const second = await start(input, output, "two");
    await taken(second, 2);
    await plain.send([message(input, "r10")]);
    await taken(second, 3);
    expect([...second.calls.keys()]).toEqual([0, 5, 10]);
    for (const done of second.calls.values()) done();
    await eventually("an empty group", async () => {
      const [partition] = await its.kafka.lag(`${input}.group`, input);
      return partition?.committed === 11 && partition.metadata === "" ? true : undefined;
    });
    expect((await its.keys(output)).sort()).toEqual(Array.from({ length: 11 }, (_, i) => `r${i}`).sort());
    await second.stage.stop();
  });
});
