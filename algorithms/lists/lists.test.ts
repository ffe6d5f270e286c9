// Lists in groups and in slices.
import { expect, test } from "vitest";
import { groupBy, slicesOf } from "./lists.ts";

test("groups and their items keep the order in which they come", () => {
  const groups = groupBy(["b1", "a1", "b2"], (text) => text[0]);
  expect([...groups]).toEqual([
    ["b", ["b1", "b2"]],
    ["a", ["a1"]],
  ]);
});

test("slices have the size, but for a shorter last one; no items, no slice", () => {
  expect([...slicesOf([1, 2, 3, 4, 5], 2)]).toEqual([[1, 2], [3, 4], [5]]);
  expect([...slicesOf([1, 2], 2)]).toEqual([[1, 2]]);
  expect([...slicesOf([], 2)]).toEqual([]);
});
