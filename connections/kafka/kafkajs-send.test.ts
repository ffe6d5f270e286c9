// Sends on brokers that are played: what kafkajs 2.2.4 loses (its own send is run beside, so that
// these tests mean something), and sequence numbers.
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { classifyKafkaError, NoSuchPartition, SendIncomplete } from "./errors.ts";
import { internals } from "./kafkajs-internals.ts";
import { createSend } from "./kafkajs-send.ts";
import type { Batch, ProduceResponse } from "./unacknowledged.ts";

const notLeader = 6;
const tooLarge = 10;

interface Played {
  /** Node that leads a partition; its keys are the partitions that there are. */
  leaders: Record<number, number>;
  /** Leaders in the client's cached metadata; a refresh replaces them. */
  believed?: Record<number, number>;
  /** Called before a broker looks at a request. */
  onProduce?: (node: number, count: number) => Promise<void> | void;
  /** Changes a broker's answer. */
  answer?: (response: ProduceResponse, node: number, count: number) => ProduceResponse;
  onRefresh?: () => void;
  transactional?: boolean;
}

/**
 * Brokers that take what they lead, once by sequence number where the producer is transactional.
 */
function play(cluster: Played) {
  const { transactional = true } = cluster;
  cluster.believed ??= { ...cluster.leaders };
  const written: string[] = [];
  const requests: { node: number; topicData: { topic: string; partitions: Batch[] }[] }[] = [];
  const counted = new Map<string, number>();
  const inTransaction: string[] = [];
  let refreshes = 0;
  let offset = 0;
  const produce = async (node: number, topicData: { topic: string; partitions: Batch[] }[]) => {
    requests.push({ node, topicData: structuredClone(topicData) });
    const count = requests.length;
    await cluster.onProduce?.(node, count);
    const topics = topicData.map(({ topic, partitions }) => ({
      topicName: topic,
      partitions: partitions.map(({ partition, messages, firstSequence }) => {
        if (cluster.leaders[partition] !== node) return { partition, errorCode: notLeader, baseOffset: "-1" };
        const batch = `${topic}/${partition}/${String(firstSequence)}`;
        if (!transactional || !counted.has(batch)) {
          counted.set(batch, offset);
          for (const { value } of messages) written.push(`${topic}/${partition}: ${String(value)}`);
          offset += messages.length;
        }
        return { partition, errorCode: 0, baseOffset: String(counted.get(batch)) };
      }),
    }));
    return cluster.answer?.({ topics }, node, count) ?? { topics };
  };
  const sequences = new Map<string, number>();
  const sequenceOf = (topic: string, partition: number): number => sequences.get(`${topic}/${partition}`) ?? 0;
  const dependencies = {
    logger: { debug: () => undefined, error: () => undefined },
    partitioner: ({ message }: { message: { partition?: number | null } }) => message.partition ?? 0,
    cluster: {
      targetTopics: new Set<string>(),
      isConnected: () => true,
      connect: async () => undefined,
      addMultipleTargetTopics: async () => undefined,
      refreshMetadataIfNecessary: async () => undefined,
      async refreshMetadata() {
        refreshes++;
        cluster.onRefresh?.();
        cluster.believed = { ...cluster.leaders };
      },
      findTopicPartitionMetadata: () =>
        Object.entries(cluster.believed ?? {}).map(([id, leader]) => ({ partitionId: Number(id), leader })),
      findLeaderForPartitions(_topic: string, partitions: string[]) {
        const found: Record<number, number[]> = {};
        for (const id of partitions.map(Number)) {
          const leader = cluster.believed?.[id];
          if (leader !== undefined) found[leader] = [...(found[leader] ?? []), id];
        }
        return found;
      },
      findBroker: async ({ nodeId }: { nodeId: number }) => brokerOf(Number(nodeId)),
      removeBroker: () => undefined,
    },
    eosManager: {
      isInitialized: () => transactional,
      isTransactional: () => transactional,
      getTransactionalId: () => "t",
      getProducerId: () => 1,
      getProducerEpoch: () => 0,
      getSequence: sequenceOf,
      updateSequence: (topic: string, partition: number, by: number) =>
        void sequences.set(`${topic}/${partition}`, sequenceOf(topic, partition) + by),
      addPartitionsToTransaction: async (data: readonly { topic: string; partitions: readonly Batch[] }[]) => {
        for (const { topic, partitions } of data)
          inTransaction.push(...partitions.map(({ partition }) => `${topic}/${partition}`));
      },
      acquireBrokerLock: async () => undefined,
      releaseBrokerLock: async () => undefined,
    },
  };
  const brokers = new Map<number, { nodeId: number; produce: (request: object) => Promise<ProduceResponse> }>();
  function brokerOf(nodeId: number) {
    const broker = brokers.get(nodeId) ?? {
      nodeId,
      produce: (request: object) =>
        produce(nodeId, (request as { topicData: { topic: string; partitions: Batch[] }[] }).topicData),
    };
    brokers.set(nodeId, broker);
    return broker;
  }
  return { dependencies, written, requests, inTransaction, sequenceOf, refreshes: () => refreshes };
}

const to = (...partitions: number[]) => [
  {
    topic: "responses",
    messages: partitions.map((partition) => ({ key: "k", value: `record ${partition}`, partition })),
  },
];
const record = (partition: number): string => `responses/${partition}: record ${partition}`;
const send = (played: ReturnType<typeof play>, ...partitions: number[]) =>
  createSend(played.dependencies)({ acks: -1, timeout: 5_000, topicMessages: to(...partitions) });

/**
 * kafkajs' own, which nothing has replaced in this process. Its brokers throw at the first error of
 * an answer.
 */
async function ownSend(played: ReturnType<typeof play>, ...partitions: number[]): Promise<unknown> {
  const require = createRequire(import.meta.url);
  type Send = (what: object) => Promise<unknown>;
  const create = require("kafkajs/src/producer/sendMessages") as (dependencies: object) => Send;
  const createRetry = require("kafkajs/src/retry") as (options: object) => unknown;
  const { cluster } = played.dependencies;
  const brokers = new Map<number, object>();
  const findBroker = async ({ nodeId }: { nodeId: number }): Promise<object> => {
    const produce = async (request: object): Promise<ProduceResponse> => {
      const response = await (await cluster.findBroker({ nodeId })).produce(request);
      for (const { errorCode } of response.topics.flatMap((topic) => topic.partitions))
        if (errorCode !== 0) throw internals.errors.createErrorFromCode(errorCode);
      return response;
    };
    if (!brokers.has(nodeId)) brokers.set(nodeId, { nodeId: String(nodeId), produce });
    return brokers.get(nodeId) ?? {};
  };
  const retrier = createRetry({ retries: 5, initialRetryTime: 5 });
  const own = create({ ...played.dependencies, cluster: { ...cluster, findBroker }, retrier });
  return own({ acks: -1, topicMessages: to(...partitions) });
}

describe("a leader that moves between two brokers in the middle of a send", () => {
  // Broker 1 has answered for partition 0 when broker 2, restarted, refuses partition 1: broker 1
  // leads both by then.
  const moving = (): Played => {
    const cluster: Played = { leaders: { 0: 1, 1: 2 } };
    cluster.onProduce = async (node) => {
      if (node !== 2) return;
      await sleep(20);
      cluster.leaders = { 0: 1, 1: 1 };
    };
    return cluster;
  };

  test("gets the records where they belong, each once", async () => {
    const played = play(moving());
    const answers = await send(played, 0, 1);
    expect(played.written).toEqual([record(0), record(1)]);
    expect(answers.map(({ topicName, partition }) => `${topicName}/${partition}`)).toEqual([
      "responses/0",
      "responses/1",
    ]);
    expect(
      played.requests.map(({ node, topicData }) => [node, topicData[0]?.partitions.map((p) => p.partition)]),
    ).toEqual([
      [1, [0]],
      [2, [1]],
      [1, [1]],
    ]);
  });

  test("makes kafkajs' own send a success without them, so the test above means something", async () => {
    const played = play(moving());
    await ownSend(played, 0, 1);
    expect(played.written).toEqual([record(0)]);
  });
});

describe("a partition that the metadata lack", () => {
  test("is looked for: it may be new", async () => {
    const cluster: Played = { leaders: { 0: 1, 6: 2 }, believed: { 0: 1 } };
    const played = play(cluster);
    await send(played, 0, 6);
    expect(played.written).toEqual([record(0), record(6)]);
    expect(played.refreshes()).toBe(1);
  });

  test("is refused when it is in no metadata, before anything is sent", async () => {
    const played = play({ leaders: { 0: 1, 1: 2 } });
    const refused = await send(played, 0, 12, -1).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(NoSuchPartition);
    expect(refused).toMatchObject({ missing: [12, -1].map((partition) => ({ topic: "responses", partition })) });
    expect((refused as Error).message).toContain("no partition 12 of responses: it has 2");
    expect(classifyKafkaError(refused)).toBe("fatal");
    expect([played.written, played.inTransaction, played.refreshes()]).toEqual([[], [], 5]);
  });

  test("is left out by kafkajs' own send, which calls that a success", async () => {
    const played = play({ leaders: { 0: 1, 1: 2 } });
    await ownSend(played, 0, 12);
    expect(played.written).toEqual([record(0)]);
  });
});

describe("what a broker answers", () => {
  /** The answer for partition 1 is this, in the first answer. */
  const changed =
    (change: object | null): Played["answer"] =>
    ({ topics }, _node, count) =>
      count > 1
        ? { topics }
        : {
            topics: topics.map(({ topicName, partitions }) => ({
              topicName,
              partitions: partitions.flatMap((one) =>
                one.partition !== 1 ? [one] : change ? [{ ...one, ...change }] : [],
              ),
            })),
          };

  test.each([
    ["lacks a partition", null, "does not say where the records are"],
    ["has no offset for one", { baseOffset: "-1" }, "does not say where the records are"],
    ["refuses one for good", { errorCode: tooLarge, baseOffset: "-1" }, "larger than the max message size"],
    ["has had its sequence number", { errorCode: 46, baseOffset: "-1" }, "duplicate sequence number"],
  ])("%s: the send fails, though the others stand there", async (_name, change, message) => {
    const played = play({ leaders: { 0: 1, 1: 1 }, answer: changed(change) as NonNullable<Played["answer"]> });
    await expect(send(played, 0, 1)).rejects.toThrow(message);
    expect(played.requests).toHaveLength(1);
  });

  test("only what was refused is sent again, the first time under the same sequence number", async () => {
    const cluster: Played = {
      leaders: { 0: 1, 1: 1 },
      answer: changed({ errorCode: notLeader, baseOffset: "-1" }) as NonNullable<Played["answer"]>,
    };
    const played = play(cluster);
    await send(played, 0, 1);
    // The records of partition 1 had arrived in spite of the error: the broker recognises them by
    // their sequence number.
    expect(played.written).toEqual([record(0), record(1)]);
    expect(played.requests.map(({ topicData }) => topicData[0]?.partitions.map((p) => p.firstSequence))).toEqual([
      [0, 0],
      [0],
    ]);
    expect(played.requests[1]?.topicData[0]?.partitions[0]?.partition).toBe(1);
    await send(played, 0, 1);
    expect([played.sequenceOf("responses", 0), played.sequenceOf("responses", 1)]).toEqual([2, 2]);
  });

  test("a connection that closes before the answer: sent again under the same number, written once", async () => {
    let closed = false;
    const cluster: Played = { leaders: { 0: 1 } };
    cluster.answer = (response) => {
      if (closed) return response;
      closed = true;
      throw Object.assign(new Error("closed"), { name: "KafkaJSConnectionClosedError", host: "h", port: 1 });
    };
    const played = play(cluster);
    await send(played, 0);
    expect(played.written).toEqual([record(0)]);
    expect(played.requests).toHaveLength(2);
  });

  test("a plain producer sends again what was not acknowledged, and nothing else", async () => {
    const cluster: Played = {
      leaders: { 0: 1, 1: 1 },
      transactional: false,
      onProduce: () => void (cluster.leaders = { 0: 1, 1: 2 }),
    };
    const played = play(cluster);
    await send(played, 0, 1);
    expect(played.written).toEqual([record(0), record(1)]);
    expect(played.inTransaction).toEqual([]);
  });
});

describe("bounds", () => {
  test("a partition without a leader is waited for so long, and named", async () => {
    const played = play({ leaders: { 0: 1, 1: -1 } });
    const failed = await createSend(played.dependencies)({ acks: -1, timeout: 300, topicMessages: to(0, 1) }).catch(
      (error: unknown) => error,
    );
    expect(failed).toBeInstanceOf(SendIncomplete);
    expect((failed as Error).message).toMatch(
      /not all records were acknowledged within 300 ms \(1 partitions: responses\/1\)/,
    );
    expect(classifyKafkaError(failed)).toBe("retriable");
    expect(played.written).toEqual([record(0)]);
  });

  test("a broker that does not answer is not waited for any longer, and gets nothing afterwards", async () => {
    const played = play({ leaders: { 0: 1 }, onProduce: () => new Promise(() => undefined) });
    const began = performance.now();
    await expect(
      createSend(played.dependencies)({ acks: -1, timeout: 300, topicMessages: to(0) }),
    ).rejects.toMatchObject({ name: "SendIncomplete" });
    expect(performance.now() - began).toBeLessThan(3_000);
  });

  test("two sends of an idempotent producer go one after the other", async () => {
    let under = 0;
    let most = 0;
    const played = play({
      leaders: { 0: 1 },
      async onProduce() {
        most = Math.max(most, ++under);
        await sleep(10);
        under--;
      },
    });
    const both = createSend(played.dependencies);
    const what = { acks: -1, topicMessages: to(0) };
    await Promise.all([both(what), both(what), both(what)]);
    expect([most, played.written.length]).toEqual([1, 3]);
  });

  test("a topic that is gone, of another send, does not keep this one from its metadata", async () => {
    const cluster: Played = { leaders: { 0: 1, 5: 1 }, believed: { 0: 1 } };
    const played = play(cluster);
    const { cluster: its } = played.dependencies;
    its.targetTopics = new Set(["deleted", "responses"]);
    cluster.onRefresh = () => {
      if (its.targetTopics.has("deleted")) throw internals.errors.createErrorFromCode(3);
    };
    await send(played, 5);
    expect(played.written).toEqual([record(5)]);
    expect([...its.targetTopics]).toEqual(["responses"]);
  });
});

describe("sizes", () => {
  const sized = (...mebibytes: number[]) => [
    {
      topic: "responses",
      messages: mebibytes.map((size, partition) => ({ key: null, value: Buffer.alloc(size * 1_048_576), partition })),
    },
  ];

  test("a batch that no topic takes is refused before anything is sent", async () => {
    const played = play({ leaders: { 0: 1, 1: 1 } });
    const sending = createSend(played.dependencies)({ acks: -1, timeout: 5_000, topicMessages: sized(1, 33) });
    await expect(sending).rejects.toMatchObject({ name: "BatchTooLarge", type: "MESSAGE_TOO_LARGE" });
    expect([played.requests, played.inTransaction]).toEqual([[], []]);
  });

  test("what is too much for a request goes in several", async () => {
    const played = play({ leaders: { 0: 1, 1: 1, 2: 1, 3: 1 } });
    await createSend(played.dependencies)({ acks: -1, timeout: 5_000, topicMessages: sized(20, 20, 10, 32) });
    const partitions = played.requests.map(({ topicData }) =>
      topicData.flatMap((one) => one.partitions.map(({ partition }) => partition)),
    );
    expect(partitions).toEqual([[0], [1, 2], [3]]);
  });
});
