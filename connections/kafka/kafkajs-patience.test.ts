// kafkajs' own ConsumerGroup, patched, against a broker that notes how long it may wait.
import { expect, test } from "vitest";
import { internals, type ConsumerGroupLike } from "./kafkajs-internals.ts";
import { quietWaitMs } from "./kafkajs-patience.ts";
import "./kafkajs.ts";

const ConsumerGroup = internals.ConsumerGroup as unknown as new (options: object) => ConsumerGroupLike;
const silent = { namespace: () => silent, debug() {}, info() {}, warn() {}, error() {} };
const part = { topic: "t", partitions: [0] };

interface Asked {
  maxWaitTime: number;
  minBytes: number;
}

function groupOf(fetch: Asked) {
  const waits: number[] = [];
  let found: { offset: string }[] = [];
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
        async fetch({ maxWaitTime }: Asked) {
          waits.push(maxWaitTime);
          return answer();
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
    fetches: async (count: number, messages: { offset: string }[] = []) => {
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

test("whoever pauses or resumes is there soon", async () => {
  const { group, waits, fetches } = groupOf({ maxWaitTime: 100, minBytes: 1 });
  for (const act of ["pause", "resume"] as const) {
    await fetches(11);
    expect(waits.at(-1)).toBe(quietWaitMs);
    group[act]([{ topic: "other", partitions: [1] }]);
    await fetches(1);
    expect(waits.at(-1)).toBe(100);
  }
});

test("one that gathers bytes waits as it was told, and so does one that is more patient already", async () => {
  const gathering = groupOf({ maxWaitTime: 200, minBytes: 1_048_576 });
  await gathering.fetches(12);
  expect(new Set(gathering.waits)).toEqual(new Set([200]));
  const patient = groupOf({ maxWaitTime: 5_000, minBytes: 1 });
  await patient.fetches(12);
  expect(new Set(patient.waits)).toEqual(new Set([5_000]));
});
