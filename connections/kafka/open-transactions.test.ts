import { describe, expect, test } from "vitest";
import {
  groupPartition,
  isClaimed,
  isSettled,
  recordedOutcome,
  type RecordedTransaction,
} from "./open-transactions.ts";

const recorded = (state: string, more: Partial<RecordedTransaction> = {}): RecordedTransaction => ({
  ...{ state, producerId: "7", epoch: 5, startedAt: 1_000_000, timeoutMs: 5_000, partitions: [] },
  ...more,
});
const open = (epoch: number, lastTimestamp = 1_000_500) => ({ epoch, lastTimestamp });

describe("the outcome on record", () => {
  test.each([
    ["CompleteCommit", "commit"],
    ["PrepareCommit", "commit"],
    ["CompleteAbort", "abort"],
    ["PrepareAbort", "abort"],
    ["Empty", undefined],
    ["Ongoing", undefined],
  ])("of a transaction of the same epoch, %s: %s", (state, outcome) => {
    expect(recordedOutcome(open(5), recorded(state))).toBe(outcome);
  });

  test("an abort by timeout has raised the epoch, and so may have a commit, if it is of that transaction", () => {
    expect(recordedOutcome(open(4), recorded("CompleteAbort"))).toBe("abort");
    expect(recordedOutcome(open(4), recorded("CompleteCommit"))).toBe("commit");
    expect(recordedOutcome(open(4, 900_000), recorded("CompleteCommit"))).toBeUndefined();
  });

  test("says nothing of lives before the last", () => {
    expect(recordedOutcome(open(3), recorded("CompleteAbort"))).toBeUndefined();
    expect(recordedOutcome(open(3), recorded("CompleteCommit"))).toBeUndefined();
  });
});

test("a partition to which the coordinator still owes a marker is claimed", () => {
  const ongoing = recorded("Ongoing", { partitions: [{ topic: "t", partitions: [1] }] });
  expect(isClaimed({ topic: "t", partition: 1, epoch: 5 }, ongoing)).toBe(true);
  expect(isClaimed({ topic: "t", partition: 0, epoch: 5 }, ongoing)).toBe(false);
  expect(isClaimed({ topic: "t", partition: 1, epoch: 2 }, ongoing)).toBe(false);
});

test("settled: all markers are written, or taken for written", () => {
  expect(["Empty", "CompleteCommit", "CompleteAbort", "Dead"].map((state) => isSettled(recorded(state)))).toEqual(
    Array(4).fill(true),
  );
  expect(["Ongoing", "PrepareCommit", "PrepareEpochFence"].map((state) => isSettled(recorded(state)))).toEqual(
    Array(3).fill(false),
  );
});

test("a group's offsets lie where Java's hash of its name puts them", () => {
  expect(groupPartition("hello", 50)).toBe(99_162_322 % 50);
  expect(groupPartition("polygenelubricants", 50)).toBe(0); // the hash whose absolute value does not fit
  expect(groupPartition("", 50)).toBe(0);
});
