import { expect, test } from "vitest";
import { partitionsFor } from "./spread.ts";

test("one partition for each 32 open requests, at least one", () => {
  expect([0, 1, 32, 33, 64, 65, 1_000].map((open) => partitionsFor(open, 1))).toEqual([1, 1, 1, 2, 2, 3, 32]);
});

test("fewer only when half of what the rest takes is open, one at a time", () => {
  expect([96, 65, 48, 33].map((open) => partitionsFor(open, 4))).toEqual([4, 4, 3, 3]);
  expect(partitionsFor(0, 4)).toBe(3);
  expect(partitionsFor(0, 1)).toBe(1);
});

test("a load about a limit keeps what it has", () => {
  let used = 1;
  for (const open of [33, 31, 34, 30, 40, 24]) used = partitionsFor(open, used);
  expect(used).toBe(2);
});
