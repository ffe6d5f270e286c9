// Held to kafkajs' own, whose choice is that of the Java client.
import fc from "fast-check";
import { expect, test } from "vitest";
import { Partitioners } from "./kafkajs.ts";
import { createPartitioner } from "./partitioner.ts";

const metadata = (partitions: number) =>
  Array.from({ length: partitions }, (_, partitionId) => ({
    ...{ partitionErrorCode: 0, partitionId, leader: 0, replicas: [], isr: [] },
  }));

test("a key's partition is the one that kafkajs chooses", () => {
  const [ours, theirs] = [createPartitioner(), Partitioners.DefaultPartitioner()];
  const keys = fc.oneof(
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  );
  fc.assert(
    fc.property(keys, fc.integer({ min: 1, max: 300 }), (key, partitions) => {
      const choice = { topic: "t", partitionMetadata: metadata(partitions), message: { key, value: null } };
      expect(ours(choice)).toBe(theirs(choice));
    }),
    { numRuns: 2_000 },
  );
});

test("a record's own partition holds, and records without a key go round", () => {
  const partition = createPartitioner();
  const choose = (message: { partition?: number; key?: null }): number =>
    partition({ topic: "t", partitionMetadata: metadata(3), message: { value: null, ...message } });
  expect(choose({ partition: 2 })).toBe(2);
  const first = choose({ key: null });
  expect([choose({}), choose({ key: null }), choose({})].map((next) => (next - first + 3) % 3)).toEqual([1, 2, 0]);
});
