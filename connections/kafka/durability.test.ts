import { expect, test } from "vitest";
import { durabilityOf } from "./durability.ts";

test.each([
  [1, { replicationFactor: 1, minInsyncReplicas: 1 }],
  [2, { replicationFactor: 2, minInsyncReplicas: 1 }],
  [3, { replicationFactor: 3, minInsyncReplicas: 2 }],
  [9, { replicationFactor: 3, minInsyncReplicas: 2 }],
])("without a word in the configuration, %i brokers keep as many copies as is safe", (brokers, wanted) => {
  expect(durabilityOf({}, brokers)).toEqual(wanted);
});

test("what the configuration says counts, and the rest follows from it", () => {
  expect(durabilityOf({ replicationFactor: 1 }, 3)).toEqual({ replicationFactor: 1, minInsyncReplicas: 1 });
  expect(durabilityOf({ minInsyncReplicas: 1 }, 5)).toEqual({ replicationFactor: 3, minInsyncReplicas: 1 });
  expect(durabilityOf({ replicationFactor: 5, minInsyncReplicas: 4 }, 5)).toMatchObject({ minInsyncReplicas: 4 });
});

test("what could never be written is refused, with what to do", () => {
  expect(() => durabilityOf({ replicationFactor: 3 }, 2)).toThrow(/the cluster has 2 brokers: lower it/);
  expect(() => durabilityOf({ minInsyncReplicas: 2 }, 1)).toThrow(/topics get 1 copies on 1 brokers/);
});
