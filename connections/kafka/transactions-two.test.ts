// The second version of transactions on brokers that are played;
// test/faults/transactions-two.test.ts has a real one.
import { describe, expect, test } from "vitest";
import { patchErrors } from "./kafkajs-errors.ts";
import { withTransactionsTwo } from "./kafkajs-transactions.ts";
import type { Broker } from "./kafkajs-produce.ts";
import type { EndedTxn } from "./protocol/end-txn.ts";
import { createTransactionsTwo, type TransactionalManager } from "./transactions-two.ts";

patchErrors();
const concurrent = 51;
const body = { acks: -1, timeout: 1, topicData: [] };
const offsets = { consumerGroupId: "g", topics: [] };

/** A cluster of one broker; answers come in the order given, by request. */
function play(answers: Record<string, unknown[]> = {}) {
  const asked: string[] = [];
  let disconnects = 0;
  const broker = {
    connectionPool: {
      async send({ request }: { request: { apiName: string } }) {
        asked.push(request.apiName);
        const answer = answers[request.apiName]?.shift();
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
    async disconnect() {
      disconnects++;
    },
    async addPartitionsToTxn({ topics }: { topics: { partitions: number[] }[] }) {
      asked.push(`AddPartitionsToTxn ${topics.map(({ partitions }) => partitions.join()).join()}`);
      const failure = answers["AddPartitionsToTxn"]?.shift();
      if (failure instanceof Error) throw failure;
    },
  };
  const cluster = {
    refreshMetadataIfNecessary: async () => undefined,
    findGroupCoordinator: async () => broker as never,
  };
  return { cluster, broker: broker as unknown as Broker, asked, disconnects: () => disconnects };
}

/** Messages for partitions of one topic. */
const data = (...partitions: number[]) => [
  { topic: "t", partitions: partitions.map((partition) => ({ topic: "t", partition, messages: [] })) },
];
const ended = (producerEpoch: number, producerId = "7"): EndedTxn => ({
  ...{ clientSideThrottleTime: 0, errorCode: 0, producerId, producerEpoch },
});
const refused = (errorCode: number): EndedTxn => ({ ...ended(-1, "-1"), errorCode });

const initialised = (played: ReturnType<typeof play>) =>
  createTransactionsTwo({ cluster: played.cluster, transactionalId: "id", producerId: "7", producerEpoch: 3 });

describe("a producer", () => {
  test("is another after every transaction, and counts from 0 again", async () => {
    const played = play({ EndTxn: [ended(4), ended(0, "8")] });
    const its = initialised(played);
    its.beginTransaction();
    await its.sendOffsets(offsets);
    await its.produce?.(played.broker, body);
    its.updateSequence("t", 1, 5);
    expect([its.getSequence("t", 1), its.getSequence("t", 2), its.getProducerEpoch()]).toEqual([5, 0, 3]);
    await its.commit();
    expect(played.asked).toEqual(["TxnOffsetCommit", "Produce", "EndTxn"]);
    expect([its.getSequence("t", 1), its.getProducerId(), its.getProducerEpoch()]).toEqual([0, "7", 4]);

    its.beginTransaction();
    await its.sendOffsets(offsets);
    await its.abort();
    expect([its.getProducerId(), its.getProducerEpoch()]).toEqual(["8", 0]);
  });

  test("ends every transaction that a broker may know: a request that failed may have arrived", async () => {
    const cut = Object.assign(new Error("cut"), { name: "KafkaJSConnectionClosedError" });
    const played = play({ TxnOffsetCommit: [cut], Produce: [cut], EndTxn: [ended(4), ended(5)] });
    const its = initialised(played);
    its.beginTransaction();
    await its.addPartitionsToTransaction(data(0), 1);
    await its.commit();
    its.beginTransaction();
    await its.abort();
    expect(played.asked).toEqual([]);
    its.beginTransaction();
    await expect(its.sendOffsets(offsets)).rejects.toBe(cut);
    await its.abort();
    its.beginTransaction();
    await expect(its.produce?.(played.broker, body)).rejects.toBe(cut);
    await its.abort();
    expect(played.asked).toEqual(["TxnOffsetCommit", "EndTxn", "Produce", "EndTxn"]);
    expect(played.disconnects()).toBe(2);
  });

  test("asks again for the end while its coordinator is busy, and never after another failure", async () => {
    const played = play({ EndTxn: [refused(concurrent), refused(concurrent), ended(4), refused(90)] });
    const its = initialised(played);
    its.beginTransaction();
    await its.sendOffsets(offsets);
    await its.commit();
    expect(played.asked.filter((name) => name === "EndTxn")).toHaveLength(3);
    its.beginTransaction();
    await its.sendOffsets(offsets);
    await expect(its.commit()).rejects.toMatchObject({ type: "PRODUCER_FENCED" });
    expect(played.asked.filter((name) => name === "EndTxn")).toHaveLength(4);
    // Its epoch is unknown, so the producer is unusable.
    expect(() => its.beginTransaction()).toThrow("no transaction can begin");
    await expect(its.abort()).rejects.toThrow("no transaction is open");
  });

  test("that writes to several brokers says so before, once a partition and transaction", async () => {
    const busy = new Error("busy");
    const played = play({ AddPartitionsToTxn: [busy], EndTxn: [ended(4), ended(5)] });
    const its = initialised(played);
    its.beginTransaction();
    await expect(its.addPartitionsToTransaction(data(0, 1), 2)).rejects.toBe(busy);
    await its.addPartitionsToTransaction(data(0, 1), 2);
    await its.addPartitionsToTransaction(data(1), 1);
    await its.addPartitionsToTransaction(data(0, 1), 3);
    await its.addPartitionsToTransaction(data(1, 2), 2);
    await its.commit();
    its.beginTransaction();
    await its.addPartitionsToTransaction(data(0, 1), 2);
    await its.abort();
    const add = (which: string): string => `AddPartitionsToTxn ${which}`;
    expect(played.asked).toEqual([add("0,1"), add("0,1"), add("2"), "EndTxn", add("0,1"), "EndTxn"]);
  });

  test("does nothing outside a transaction", async () => {
    const played = play();
    const its = initialised(played);
    await expect(its.commit()).rejects.toThrow("no transaction is open");
    await expect(its.sendOffsets(offsets)).rejects.toThrow("no transaction is open");
    await expect(its.addPartitionsToTransaction(data(0), 2)).rejects.toThrow("no transaction is open");
    its.beginTransaction();
    expect(() => its.beginTransaction()).toThrow("no transaction can begin");
    expect(played.asked).toEqual([]);
  });

  test("sequence numbers go on from 0 after the largest", () => {
    const its = initialised(play());
    its.updateSequence("t", 0, 2 ** 31 - 1);
    expect(its.getSequence("t", 0)).toBe(2 ** 31 - 1);
    its.updateSequence("t", 0, 3);
    expect(its.getSequence("t", 0)).toBe(2);
  });
});

describe("which version a producer has", () => {
  const levels = (level?: number) => ({
    supported: [],
    finalised: new Map(level === undefined ? [] : [["transaction.version", level]]),
  });
  /** The part of kafkajs' own manager that is used here. */
  const own = (did: string[]): TransactionalManager =>
    ({
      ...{ isInitialized: () => did.includes("init"), isTransactional: () => true },
      ...{ getProducerId: () => 7n, getProducerEpoch: () => 3 },
      initProducerId: async () => void did.push("init"),
      beginTransaction: () => void did.push("begin"),
      addPartitionsToTransaction: async () => void did.push("add"),
      commit: async () => void did.push("commit"),
    }) as unknown as TransactionalManager;
  const make = (played: ReturnType<typeof play>, did: string[]) =>
    withTransactionsTwo(() => own(did))({ cluster: played.cluster, transactional: true, transactionalId: "id" });
  const transact = async (manager: TransactionalManager, broker: Broker): Promise<void> => {
    manager.beginTransaction();
    await manager.addPartitionsToTransaction(data(0), 1);
    await manager.produce?.(broker, body);
    await manager.commit();
  };

  test.each([undefined, 0, 1])("the first, on a cluster at level %s", async (level) => {
    const played = play({ ApiVersions: [levels(level)] });
    const did: string[] = [];
    const its = make(played, did);
    await its.initProducerId();
    await transact(its, { ...played.broker, produce: async () => ({ topics: [void did.push("produce")] }) as never });
    expect(did).toEqual(["init", "begin", "add", "produce", "commit"]);
    expect(played.asked).toEqual(["ApiVersions"]);
  });

  test.each([2, 3])("the second, on a cluster at level %s, with the id that it was given", async (level) => {
    const played = play({ ApiVersions: [levels(level)], EndTxn: [ended(4)] });
    const did: string[] = [];
    const its = make(played, did);
    await its.initProducerId();
    expect([its.getProducerId(), its.getProducerEpoch()]).toEqual(["7", 3]);
    await transact(its, played.broker);
    expect(did).toEqual(["init"]);
    expect(played.asked).toEqual(["ApiVersions", "Produce", "EndTxn"]);
    expect(its.getProducerEpoch()).toBe(4);
  });

  test("none before it is known: it is not initialised then", async () => {
    const played = play({ ApiVersions: [new Error("away"), levels(2)] });
    const did: string[] = [];
    const its = make(played, did);
    await expect(its.initProducerId()).rejects.toThrow("away");
    expect(its.isInitialized()).toBe(false);
    await its.initProducerId();
    expect(its.isInitialized()).toBe(true);
    expect(did).toEqual(["init"]);
  });

  test("a producer without transactions is kafkajs'", () => {
    const one = own([]);
    const played = play();
    expect(withTransactionsTwo(() => one)({ cluster: played.cluster, transactional: false })).toBe(one);
  });
});
