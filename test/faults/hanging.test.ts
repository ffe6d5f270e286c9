// Transactions that hang: the coordinator takes them for ended, partitions still wait. The next
// life of their producer ends them as they were recorded, by markers or, where it may write none,
// by a transaction of its own; those of others are named, and ended on demand.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSweep } from "../../connections/kafka/sweep.ts";
import { createTransactionalProducer } from "../../connections/kafka/transactional-producer.ts";
import { createTransactions, type Transactions } from "../../connections/kafka/transactions.ts";
import { createWire, type Wire } from "../../connections/kafka/wire.ts";
import { createLog } from "../../runtime/log.ts";
import { leaveHanging, verification, type Left } from "../support/hanging.ts";
import { createTestKafka, message, type TestKafka } from "../support/kafka.ts";
import { eventually } from "../support/system.ts";

let its: TestKafka;
let wire: Wire;
let transactions: Transactions;
const producers: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  its = createTestKafka();
  wire = createWire(its.client);
  transactions = createTransactions(wire);
  await verification(its.client, "false");
});
afterAll(async () => {
  await verification(its.client);
  await Promise.allSettled(producers.map((producer) => producer.close()));
  await Promise.all([wire.close(), its.close()]);
});

/** One in a topic and a group of its own. */
async function hang(outcome?: "commit" | "abort"): Promise<Left> {
  const [input, output, reported] = [await its.topic(), await its.topic(), await its.topic()];
  const left: Left = {
    ...{ client: its.client, id: `${output}.id`, group: `${output}.group`, input, output },
    ...(outcome === undefined ? {} : { reported: { topic: reported, outcome } }),
  };
  await leaveHanging(left);
  await expect(its.kafka.lag(left.group, input)).rejects.toThrow("transactions open");
  return left;
}
/** Where to look for it from outside. */
const searchOf = (left: Left) => ({ ...reachOf(left), idPrefix: left.id });
const reachOf = ({ group, output }: Left) => ({ groups: [group], topics: [output] });
/** What the group has committed, once that is stable. */
const committed = ({ group, input }: Left): Promise<number | string> =>
  eventually("stable offsets", () => its.kafka.lag(group, input), 4_000).then(
    ([partition]) => partition?.committed ?? "none",
    () => "never",
  );

/** A commit is acknowledged before its markers are written. */
const keysWithNew = (topic: string): Promise<string[]> =>
  eventually("the new record", async () => {
    const keys = await its.keys(topic);
    return keys.includes("new") ? keys : undefined;
  });

describe("the next life of a producer ends what its former left open", () => {
  test.each([
    ["what was committed is committed", "commit", 1, ["hung"]],
    ["what was aborted is aborted", "abort", "none", []],
    ["what was never ended is aborted", undefined, "none", []],
  ] as const)("%s", { timeout: 60_000 }, async (_, outcome, offset, keys) => {
    const left = await hang(outcome);
    const next = its.kafka.transactionalProducer(left.id, () => reachOf(left));
    producers.push(next);
    await next.initialise();
    expect([await committed(left), await its.keys(left.output)]).toEqual([offset, keys]);
    const work = { group: left.group, member: { id: "", generation: -1 }, offsets: [] };
    await next.transact({ ...work, messages: [message(left.output, "new")] });
    expect(await keysWithNew(left.output)).toEqual([...keys, "new"]);
  });

  test("without it, positions wait for ever, and what was aborted is published", { timeout: 60_000 }, async () => {
    const left = await hang("abort");
    const next = its.kafka.transactionalProducer(left.id);
    producers.push(next);
    await next.initialise();
    expect(await committed(left)).toBe("never");
    const work = { group: left.group, member: { id: "", generation: -1 }, offsets: [] };
    await next.transact({ ...work, messages: [message(left.output, "new")] });
    expect(await keysWithNew(left.output)).toEqual(["hung", "new"]);
  });

  test.each([
    ["commit", 1, ["hung"]],
    ["abort", "none", []],
  ] as const)("a principal that may write no marker does it by a transaction: %s", async (outcome, offset, keys) => {
    const left = await hang(outcome);
    const log = createLog({ level: "silent" });
    const forbidden: Transactions = {
      ...transactions,
      end: (transaction) => Promise.resolve({ transaction, refused: "CLUSTER_AUTHORIZATION_FAILED" }),
    };
    const sweep = createSweep({ transactions: forbidden, transactionalId: left.id, reach: () => reachOf(left), log });
    const next = createTransactionalProducer(its.client, {
      transactionalId: left.id,
      transactionTimeoutMs: 5_000,
      sweep,
    });
    producers.push(next);
    await next.initialise();
    expect([await committed(left), await its.keys(left.output)]).toEqual([offset, keys]);
    const work = { group: left.group, member: { id: "", generation: -1 }, offsets: [] };
    await next.transact({ ...work, messages: [message(left.output, "new")] });
    expect(await keysWithNew(left.output)).toEqual([...keys, "new"]);
  });
});

describe("transactions of anybody that hang", () => {
  test.each(["commit", "abort"] as const)("are named, and ended as it was recorded: %s", async (outcome) => {
    const left = await hang(outcome);
    const found = await its.kafka.hangingTransactions(searchOf(left));
    expect(found.map(({ topic }) => topic).sort()).toEqual(["__consumer_offsets", left.output].sort());
    const about = {
      transactionalId: left.id,
      state: outcome === "commit" ? "CompleteCommit" : "CompleteAbort",
      outcome,
    };
    for (const transaction of found) expect(transaction).toMatchObject(about);
    expect(found.find(({ topic }) => topic === left.output)).toMatchObject({ partition: 0, openSince: 0 });
    const ended = await its.kafka.endTransactions(found);
    expect(ended.map(({ refused }) => refused)).toEqual([undefined, undefined]);
    expect(await committed(left)).toBe(outcome === "commit" ? 1 : "none");
    expect(await its.keys(left.output)).toEqual(outcome === "commit" ? ["hung"] : []);
    expect(await its.kafka.hangingTransactions(searchOf(left))).toEqual([]);
  });

  test("whose outcome is not on record are named, not ended", async () => {
    const left = await hang();
    const found = await its.kafka.hangingTransactions(searchOf(left));
    expect(found).toHaveLength(2);
    for (const { outcome, state } of found) expect([outcome, state]).toEqual([undefined, "Empty"]);
    const ended = await its.kafka.endTransactions(found);
    for (const { refused } of ended) expect(refused).toContain("not on record");
  });

  test("are not those that their producer or its timeout will end", async () => {
    const [input, output] = [await its.topic(), await its.topic()];
    const group = `${output}.group`;
    const producer = its.client.producer({ transactionalId: `${output}.id`, idempotent: true, maxInFlightRequests: 1 });
    producers.push({ close: () => producer.disconnect() });
    await producer.connect();
    const transaction = await producer.transaction();
    const topics = [{ topic: input, partitions: [{ partition: 0, offset: "7" }] }];
    await transaction.sendOffsets({ consumerGroupId: group, topics });
    await transaction.send({ topic: output, messages: [{ key: "open", value: "open", partition: 0 }] });
    const reach = { groups: [group], topics: [output], idPrefix: output };
    expect((await transactions.look(reach)).open).not.toEqual([]);
    expect(await its.kafka.hangingTransactions(reach)).toEqual([]);
    await transaction.commit();
    expect(await its.keys(output)).toEqual(["open"]);
  });
});
