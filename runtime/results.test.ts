import { expect, test } from "vitest";
import { createPartition } from "./partition.ts";
import { createResults } from "./results.ts";
import { at, finish, partitionWith } from "./doubles.testing.ts";

const adopted = (offset?: number, metadata = "") => createPartition(at(0), offset ?? 0, [], { offset, metadata });

test("ready results come back where no other member has moved the position, and only once", () => {
  const results = createResults();
  const lost = partitionWith(0, [0, 1, 2], [1]);
  results.keep([lost]);
  const again = adopted();
  results.restore(again);
  expect([...again.results].map(([offset, [message]]) => [offset, String(message?.value)])).toEqual([[1, "0/1"]]);
  const later = adopted();
  results.restore(later);
  expect(later.results.size).toBe(0);
});

test("where the position was moved they mean nothing", () => {
  const results = createResults();
  for (const moved of [adopted(1), adopted(0, "bAg==")]) {
    results.keep([partitionWith(0, [0, 1], [1])]);
    results.restore(moved);
    expect(moved.results.size).toBe(0);
  }
});

test("what was given back and not taken up is kept along; the next join forgets the rest", () => {
  const results = createResults();
  const first = partitionWith(0, [0, 1], [1]);
  first.results.set(7, []);
  finish(first, 0);
  results.keep([first]);
  results.keep([]);
  const none = adopted();
  results.restore(none);
  expect(none.results.size).toBe(0);
  results.keep([first]);
  results.restore(none);
  expect([...none.results.keys()].sort()).toEqual([0, 1, 7]);
});
