import { expect, test } from "vitest";
import { encodeFinished } from "./finished-offsets.ts";
import { outcomeOf } from "./reconcile.ts";

const at = (offset: number | undefined, finished: readonly number[] = []) => ({
  offset,
  metadata: encodeFinished(finished),
});

test.each([
  ["the attempted position stands: it was committed", at(7), "committed"],
  ["the position before stands: nothing was", at(5, [2]), "undone"],
  ["another position stands: another member committed", at(9), "unknown"],
  ["the same offset with other finished records: another member committed, too", at(7, [3]), "unknown"],
  ["the position is gone", at(undefined), "unknown"],
])("%s", (_what, found, outcome) => {
  expect(outcomeOf(at(7), at(5, [2]), found)).toBe(outcome);
});

test("a group that had committed nothing has committed nothing", () => {
  expect(outcomeOf(at(1), at(undefined), at(undefined))).toBe("undone");
});
