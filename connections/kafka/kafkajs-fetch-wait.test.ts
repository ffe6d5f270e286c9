// kafkajs' own ConsumerGroup, patched, against a broker that notes how long it may wait.
import { expect, test } from "vitest";
import { internals, type ConsumerGroupLike, type RequestQueueLike } from "./kafkajs-internals.ts";
import { quietWaitMs } from "./kafkajs-fetch-wait.ts";
import "./kafkajs.ts";

const ConsumerGroup = internals.ConsumerGroup as unknown as new (options: object) => ConsumerGroupLike;
const silent = { namespace: () => silent, debug() {}, info() {}, warn() {}, error() {} };
const part = { topic: "t", partitions: [0] };

interface Found {
  offset: string;
  value?: Buffer;
}

interface Asked {
  maxWaitTime: number;
  minBytes: number;
}

function groupOf(fetch: Asked) {
  const waits: number[] = [];
  const bytes: number[] = [];
  let found: Found[] = [];
  let hangs = false;
  const answer = (): object => ({
    responses: [
      {
        topicName: "t",
        partitions: [{ partition: 0, highWatermark: "9", abortedTransactions: [], messages: found }],
      },
    ],
  });
  const group = new ConsumerGroup({
    ...{ logger: silent, topics: ["t"], topicConfigurations: {}, assigners: [], instrumentationEmitter: { emit() {} } },
    ...{ retry: {}, groupId: "g", isolationLevel: 1, maxBytesPerPartition: 1, maxBytes: 1 },
    ...{ minBytes: fetch.minBytes, maxWaitTimeInMs: fetch.maxWaitTime },
    cluster: {
      refreshMetadataIfNecessary: async () => undefined,
      findTopicPartitionMetadata: () => [{ partitionId: 0, leader: 1 }],
      findLeaderForPartitions: () => ({ "1": [0] }),
      findBroker: async () => ({
        async fetch({ maxWaitTime, minBytes }: Asked) {
          waits.push(maxWaitTime);
          bytes.push(minBytes);
          return hangs ? new Promise(() => undefined) : answer();
        },
      }),
    },
  });
  const inside = group as unknown as {
    subscriptionState: { assign(topics: object[]): void };
    offsetManager: object;
    checkForStaleAssignment(): void;
  };
  group.memberId = "m";
  inside.subscriptionState.assign([part]);
  inside.checkForStaleAssignment = () => undefined;
  inside.offsetManager = {
    resolveOffsets: async () => undefined,
    committedOffsets: () => ({ t: { 0: "0" } }),
    nextOffset: () => "0",
  };
  return {
    group,
    waits,
    bytes,
    hang: () => void (hangs = true),
    fetches: async (count: number, messages: Found[] = []) => {
      found = messages;
      for (let i = 0; i < count; i++) await group.fetch("1");
    },
  };
}

test("a consumer that has found nothing for long lets the broker wait longer, until something comes", async () => {
  const { waits, fetches } = groupOf({ maxWaitTime: 100, minBytes: 1 });
  await fetches(10);
  expect(new Set(waits)).toEqual(new Set([100]));
  await fetches(2);
  expect(waits.slice(10)).toEqual([quietWaitMs, quietWaitMs]);
  await fetches(1, [{ offset: "3" }]);
  await fetches(1);
  expect(waits.at(-1)).toBe(100);
});

test("pausing or resuming ends a long wait soon", async () => {
  const { group, waits, fetches } = groupOf({ maxWaitTime: 100, minBytes: 1 });
  for (const act of ["pause", "resume"] as const) {
    await fetches(11);
    expect(waits.at(-1)).toBe(quietWaitMs);
    group[act]([{ topic: "other", partitions: [1] }]);
    await fetches(1);
    expect(waits.at(-1)).toBe(100);
  }
});

test("one that is more patient already stays so", async () => {
  const patient = groupOf({ maxWaitTime: 5_000, minBytes: 1 });
  await patient.fetches(12);
  expect(new Set(patient.waits)).toEqual(new Set([5_000]));
});

test("one that gathers waits between its fetches, never in the broker, and not behind a large one", async () => {
  const { bytes, fetches } = groupOf({ maxWaitTime: 60, minBytes: 1_000 });
  const began = performance.now();
  await fetches(3, [{ offset: "3", value: Buffer.alloc(400) }]);
  // Timers may fire a little early.
  expect(performance.now() - began).toBeGreaterThan(110);
  expect(new Set(bytes)).toEqual(new Set([1]));
});

test("one that gathers goes on at once behind as many bytes as it gathers, and where nothing was there", async () => {
  const hour = 3_600_000;
  const { bytes, fetches } = groupOf({ maxWaitTime: hour, minBytes: 1_000 });
  await fetches(3, [{ offset: "3", value: Buffer.alloc(1_000) }]);
  await fetches(3);
  expect(bytes).toHaveLength(6);
});

test("a consumer that stops waits neither for the fetch under way nor for the pause before the next one", async () => {
  const hour = 3_600_000;
  const [waiting, pausing] = [groupOf({ maxWaitTime: 100, minBytes: 1 }), groupOf({ maxWaitTime: hour, minBytes: 9 })];
  waiting.hang();
  await pausing.fetches(1, [{ offset: "3", value: Buffer.alloc(1) }]);
  const fetches = [waiting, pausing].map(({ group }) => group.fetch("1"));
  for (const { group } of [waiting, pausing])
    await internals.Runner.prototype.stop.call({ running: false, consumerGroup: group } as never);
  expect(await Promise.all(fetches)).toEqual([[], []]);
  expect(await waiting.group.fetch("1")).toEqual([]);
  expect([waiting.waits.length, pausing.waits.length]).toEqual([1, 1]);
});

test("a connection that is closed waits for its requests, but for no fetch", async () => {
  const Queue = internals.RequestQueue as unknown as new (options: object) => RequestQueueLike & {
    push(request: object): void;
    fulfillRequest(response: object): void;
  };
  const queue = new Queue({ maxInFlightRequests: null, requestTimeout: 1_000, logger: silent });
  const push = (apiKey: number, correlationId: number): void => {
    const entry = { apiKey, correlationId, resolve: () => undefined, reject: () => undefined };
    queue.push({ entry, expectResponse: true, sendRequest: () => undefined });
  };
  const [fetch, leaveGroup] = [1, 13];
  push(fetch, 1);
  await queue.waitForPendingRequests();
  push(leaveGroup, 2);
  let isOver = false;
  const over = queue.waitForPendingRequests().then(() => (isOver = true));
  await new Promise(setImmediate);
  expect(isOver).toBe(false);
  for (const correlationId of [1, 2]) queue.fulfillRequest({ correlationId, size: 0, payload: null });
  await over;
});
