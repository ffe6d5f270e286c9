import { expect, test } from "vitest";
import type { HangingTransaction } from "../connections/kafka/port.ts";
import { describeHanging } from "./doctor-transactions.ts";

const hung: HangingTransaction = {
  ...{ topic: "p.work.cheap", partition: 3, producerId: "7", epoch: 5, openSince: 10, coordinatorEpoch: 0 },
  ...{ lastTimestamp: Date.UTC(2026, 0, 2), transactionalId: "p.plan.one", state: "CompleteCommit", outcome: "commit" },
};

test("says which transaction hangs where, since when, and what ends it", () => {
  const { state, detail, remedy } = describeHanging([{ transaction: hung, refused: "" }], "b:9092");
  expect(state).toBe("missing");
  expect(detail).toContain(
    "p.work.cheap-3 from offset 10, last written 2026-01-02T00:00:00.000Z: producer 7, epoch 5, of p.plan.one; its coordinator says CompleteCommit",
  );
  expect(remedy).toMatch(/^precedent doctor --repair/);
});

test("an outcome that is not on record can't be repeated: the command that gives it up, with its price", () => {
  const transaction = { ...hung, outcome: undefined, transactionalId: undefined, state: undefined };
  const { detail, remedy } = describeHanging([{ transaction, refused: "" }], "b:9092");
  expect(detail).toContain("a transactional id that has expired; its coordinator says nothing");
  expect(remedy).toBe(
    "kafka-transactions.sh --bootstrap-server b:9092 abort --topic p.work.cheap --partition 3 --start-offset 10 (what it wrote is lost)",
  );
});

test("what was ended is told, what was refused stays with its reason", () => {
  const both = [
    { transaction: hung, refused: undefined },
    { transaction: { ...hung, partition: 4 }, refused: "CLUSTER_AUTHORIZATION_FAILED" },
  ];
  const { detail } = describeHanging(both, "b:9092");
  expect(detail).toMatch(/^1 hang.*\n.*cheap-4 .*not ended: CLUSTER_AUTHORIZATION_FAILED\n1 ended/);
  expect(describeHanging([{ transaction: hung, refused: undefined }], "b")).toEqual({
    state: "fine",
    detail: "1 ended as their coordinators recorded them",
  });
  expect(describeHanging([], "b")).toEqual({ state: "fine", detail: "none hangs" });
});
