// Both versions of Kafka's transactions (KIP-890) on the embedded broker, which can do either: what
// is sent, what a reader sees, who is refused, and what happens when the cluster changes its level
// while a producer is at work.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Producer } from "kafkajs";
import { ConfigResourceTypes } from "../../connections/kafka/kafkajs.ts";
import { TransactionAborted } from "../../connections/kafka/errors.ts";
import type { GroupMember, Transaction, TransactionalProducer } from "../../connections/kafka/port.ts";
import { endTxn } from "../../connections/kafka/protocol/end-txn.ts";
import { flexibleProduce } from "../../connections/kafka/protocol/produce-flexible.ts";
import { createWire, type Wire } from "../../connections/kafka/wire.ts";
import { createTransactions } from "../../connections/kafka/transactions.ts";
import { createTransactionalProducer } from "../../connections/kafka/transactional-producer.ts";
import { createTestKafka, message, type TestKafka } from "../support/kafka.ts";
import { eventually } from "../support/system.ts";
import { setTransactionVersion } from "../support/transaction-version.ts";

let its: TestKafka;
let wire: Wire;
const producers: TransactionalProducer[] = [];
beforeAll(() => {
  its = createTestKafka();
  wire = createWire(its.client);
});
afterEach(() => setTransactionVersion(its.client, 2));
afterAll(async () => {
  await Promise.all(producers.map((producer) => producer.close()));
  await wire.close();
  await its.close();
});

const ofTransactions = new Set(["AddOffsetsToTxn", "TxnOffsetCommit", "AddPartitionsToTxn", "Produce", "EndTxn"]);

/** As a stage has it; `asked`: its requests, in order. */
async function producerOf(transactionalId: string): Promise<{ producer: TransactionalProducer; asked: string[] }> {
  const asked: string[] = [];
  const watched = Object.create(its.client, {
    producer: {
      value: (options: object): Producer => {
        const made = its.client.producer(options);
        made.on(made.events.REQUEST, ({ payload: { apiName, apiVersion } }) => {
          if (ofTransactions.has(apiName)) asked.push(`${apiName} ${apiVersion}`);
        });
        return made;
      },
    },
  }) as typeof its.client;
  const producer = createTransactionalProducer(watched, { transactionalId, transactionTimeoutMs: 60_000 });
  producers.push(producer);
  await producer.initialise();
  return { producer, asked };
}

const committing = (group: string, member: GroupMember, input: string, offset: number) => ({
  ...{ group, member },
  offsets: [{ topic: input, partitions: [{ partition: 0, offset: String(offset), metadata: null }] }],
});
const committed = async (group: string, topic: string): Promise<number | undefined> =>
  (await its.kafka.lag(group, topic))[0]?.committed;

const requests = {
  1: ["AddOffsetsToTxn 1", "TxnOffsetCommit 3", "AddPartitionsToTxn 1", "Produce 7", "EndTxn 1"],
  2: ["TxnOffsetCommit 5", "Produce 12", "EndTxn 5"],
};
/** Repeats after CONCURRENT_TRANSACTIONS count once. */
const once = (asked: readonly string[]): string[] => asked.filter((name, i) => name !== asked[i + 1]);

describe.each([0, 1, 2] as const)("on a cluster at level %i", (level) => {
  const expected = requests[level === 2 ? 2 : 1];

  test("a transaction takes these requests, and all of it is there or nothing", async () => {
    await setTransactionVersion(its.client, level);
    const [input, output, group] = [await its.topic(), await its.topic(2), `g${level}`];
    const { member } = await its.join(`${input}.${group}`, input);
    const { producer, asked } = await producerOf(`${input}.id`);
    const both = [message(output, "a", 0), message(output, "b", 1)];
    const work = (offset: number): Transaction => ({
      ...committing(`${input}.${group}`, member, input, offset),
      messages: both,
    });
    await producer.transact(work(1));
    expect(once(asked)).toEqual(expected);
    asked.length = 0;
    await producer.transact(work(2));
    expect(once(asked)).toEqual(expected);
    expect((await its.keys(output)).sort()).toEqual(["a", "a", "b", "b"]);
    expect(await committed(`${input}.${group}`, input)).toBe(2);

    // Records that a broker never takes: nothing of the transaction stays.
    const tooLarge = { ...message(output, "c"), value: Buffer.alloc(2_000_000) };
    await setSmall(output);
    await expect(producer.transact({ ...work(3), messages: [...both, tooLarge] })).rejects.toThrow(TransactionAborted);
    expect((await its.keys(output)).sort()).toEqual(["a", "a", "b", "b"]);
    expect(await committed(`${input}.${group}`, input)).toBe(2);
    await producer.transact(work(4));
    expect((await its.keys(output)).length).toBe(6);
  });

  test("a fenced member fails at its offsets, before anything is written, and the producer goes on", async () => {
    await setTransactionVersion(its.client, level);
    const [input, output] = [await its.topic(), await its.topic()];
    const group = `${input}.g`;
    const { member } = await its.join(group, input);
    const { producer, asked } = await producerOf(`${input}.id`);
    const messages = [message(output, "a")];
    for (const zombie of [
      { ...member, generation: member.generation - 1 },
      { ...member, id: "another" },
    ]) {
      asked.length = 0;
      const attempt = producer.transact({ ...committing(group, zombie, input, 1), messages });
      await expect(attempt).rejects.toMatchObject({ name: "TransactionAborted", fenced: true });
      expect(once(asked)).toEqual(level === 2 ? [expected[0], expected[2]] : [expected[0], expected[1], expected[4]]);
    }
    expect((await its.kafka.ends(output))[0]?.high).toBe(0);
    expect(await committed(group, input)).toBeUndefined();
    await producer.transact({ ...committing(group, member, input, 1), messages });
    expect(await its.keys(output)).toEqual(["a"]);
  });

  test("a successor ends what is open, and fences", async () => {
    await setTransactionVersion(its.client, level);
    const output = await its.topic();
    const hung = its.client.producer({ transactionalId: `${output}.id`, idempotent: true, maxInFlightRequests: 1 });
    await hung.connect();
    const open = await hung.transaction();
    await open.send({ topic: output, messages: [{ key: "lost", value: "lost" }] });
    const { producer } = await producerOf(`${output}.id`);
    const member = { id: "", generation: -1 };
    await producer.transact({ group: "", member, offsets: [], messages: [message(output, "a")] });
    await expect(open.send({ topic: output, messages: [{ key: "late", value: "late" }] })).rejects.toThrow();
    await expect(open.commit()).rejects.toThrow();
    await hung.disconnect();
    expect(await its.keys(output)).toEqual(["a"]);
  });
});

test("a producer keeps what it was initialised with, while the cluster goes down and up", async () => {
  const output = await its.topic();
  const only = { group: "", member: { id: "", generation: -1 }, offsets: [], messages: [message(output, "a")] };
  const second = await producerOf(`${output}.second`);
  await second.producer.transact(only);
  await setTransactionVersion(its.client, 1);
  const first = await producerOf(`${output}.first`);
  await second.producer.transact(only);
  await first.producer.transact(only);
  await setTransactionVersion(its.client, 2);
  await second.producer.transact(only);
  await first.producer.transact(only);
  expect(new Set(second.asked)).toEqual(new Set(["Produce 12", "EndTxn 5"]));
  expect(new Set(first.asked)).toEqual(new Set(["AddPartitionsToTxn 1", "Produce 7", "EndTxn 1"]));
  expect(await its.keys(output)).toHaveLength(5);
  await first.producer.initialise();
  first.asked.length = 0;
  await first.producer.transact(only);
  expect(once(first.asked)).toEqual(["Produce 12", "EndTxn 5"]);
});

test("records that come after their transaction's end are refused, and nothing is left open", async () => {
  const output = await its.topic();
  const transactionalId = `${output}.id`;
  const { producer } = await producerOf(transactionalId);
  const member = { id: "", generation: -1 };
  const describe = () => createTransactions(wire).describe(transactionalId);
  const before = await describe();
  await producer.transact({ group: "", member, offsets: [], messages: [message(output, "a")] });
  const after = await eventually("the end", async () => {
    const now = await describe();
    return now?.state === "CompleteCommit" ? now : undefined;
  });
  expect(after).toMatchObject({ producerId: before?.producerId, epoch: (before?.epoch ?? 0) + 1 });

  const [leader] = await wire.leaders([output]);
  const late = { partition: 0, firstSequence: 1, messages: [{ value: "late" }] };
  const { topics } = await wire.send(
    leader?.leader ?? -1,
    flexibleProduce({
      ...{ transactionalId, acks: -1, timeout: 5_000, producerId: after.producerId, producerEpoch: after.epoch - 1 },
      topicData: [{ topic: output, partitions: [late] }],
    }),
  );
  const invalidProducerEpoch = 47;
  expect(topics[0]?.partitions[0]?.errorCode).toBe(invalidProducerEpoch);
  const [end] = await its.kafka.ends(output);
  expect(end?.stable).toBe(end?.high);
});

test("an end without anything to end: an abort gives another epoch, a commit is refused", async () => {
  const transactionalId = `${await its.topic()}.id`;
  const { producer } = await producerOf(transactionalId);
  const transactions = createTransactions(wire);
  const end = async (commit: boolean) => {
    const now = await transactions.describe(transactionalId);
    const coordinator = await wire.coordinator({ transactionalId });
    const asked = { transactionalId, producerId: now?.producerId ?? "", producerEpoch: now?.epoch ?? -1, commit };
    return { was: asked, answer: await wire.send(coordinator, endTxn(asked)) };
  };
  const invalidTxnState = 48;
  expect((await end(true)).answer.errorCode).toBe(invalidTxnState);
  const { was, answer } = await end(false);
  expect(answer).toMatchObject({ errorCode: 0, producerId: was.producerId, producerEpoch: was.producerEpoch + 1 });
  await producer.close();
});

/** Takes no record of a megabyte. */
async function setSmall(topic: string): Promise<void> {
  const admin = its.client.admin();
  await admin.connect();
  const configEntries = [{ name: "max.message.bytes", value: "100000" }];
  await admin.alterConfigs({
    validateOnly: false,
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }],
  });
  await admin.disconnect();
}
