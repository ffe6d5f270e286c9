import { expect, test } from "vitest";
import type { HangingTransaction } from "../connections/kafka/port.ts";
import { describeHanging } from "./doctor-transactions.ts";

const hung: HangingTransaction = {
  ...{ topic: "p.work.small", partition: 3, producerId: "7", epoch: 5, openSince: 10, coordinatorEpoch: 0 },
  ...{ lastTimestamp: Date.UTC(2026, 0, 2), transactionalId: "p.plan.one", state: "CompleteCommit", outcome: "commit" },
  remedy: "repair it",
};

test("says which transaction hangs where, since when, and what ends it", () => {
  const { state, detail, remedy } = describeHanging([{ transaction: hung, refused: "" }]);
  expect(state).toBe("missing");
  expect(detail).toContain(
    "p.work.small-3 from offset 10, last written 2026-01-02T00:00:00.000Z: producer 7, epoch 5, of p.plan.one; its coordinator says CompleteCommit",
  );
  expect(remedy).toBe("repair it");
});

test("of an expired id it says so, and each remedy comes once", () => {
  const transaction = { ...hung, outcome: undefined, transactionalId: undefined, state: undefined, remedy: "abort it" };
  const all = [transaction, hung, { ...hung, partition: 4 }].map((one) => ({ transaction: one, refused: "" }));
  const { detail, remedy } = describeHanging(all);
  expect(detail).toContain("a transactional id that has expired; its coordinator says nothing");
  expect(remedy).toBe("abort it\nrepair it");
});

test("reports ended transactions, and refused ones with their reason", () => {
  const both = [
    { transaction: hung, refused: undefined },
    { transaction: { ...hung, partition: 4 }, refused: "CLUSTER_AUTHORIZATION_FAILED" },
  ];
  const { detail } = describeHanging(both);
  expect(detail).toMatch(/^1 hang.*\n.*small-4 .*not ended: CLUSTER_AUTHORIZATION_FAILED\n1 ended/);
  expect(describeHanging([{ transaction: hung, refused: undefined }])).toEqual({
    state: "fine",
    detail: "1 ended as their coordinators recorded them",
  });
  expect(describeHanging([])).toEqual({ state: "fine", detail: "none hangs" });
});
