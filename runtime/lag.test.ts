import { expect, test } from "vitest";
import type { TopicPartition } from "../connections/kafka/port.ts";
import { createLag } from "./lag.ts";

function setUp() {
  let assigned: TopicPartition[] = [0, 1].map((partition) => ({ topic: "requests", partition }));
  const committed = new Map<number, number>([[0, 5]]);
  const lag = createLag({ assigned: () => assigned, committed: (_topic, partition) => committed.get(partition) });
  return { lag, committed, assign: (next: TopicPartition[]) => (assigned = next) };
}

test("follows what is committed without another batch", () => {
  const { lag, committed } = setUp();
  lag.saw("requests", 0, 12);
  expect(lag.now()).toEqual([{ topic: "requests", partition: 0, records: 7 }]);
  committed.set(0, 12);
  expect(lag.now()).toEqual([{ topic: "requests", partition: 0, records: 0 }]);
});

test("is never negative, and not told of what is not adopted or not ours any more", () => {
  const { lag, committed, assign } = setUp();
  lag.saw("requests", 0, 3); // seen before the last commit
  lag.saw("requests", 1, 9);
  expect(lag.now()).toEqual([{ topic: "requests", partition: 0, records: 0 }]);
  assign([{ topic: "requests", partition: 1 }]);
  committed.set(1, 4);
  expect(lag.now()).toEqual([{ topic: "requests", partition: 1, records: 5 }]);
  assign([{ topic: "requests", partition: 0 }]);
  expect(lag.now()).toEqual([]);
});
