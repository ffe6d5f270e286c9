import { describe, expect, test } from "vitest";
import { endHanging, findHanging } from "./hanging.ts";
import { described, fakeTransactions, openTransaction } from "./transactions.testing.ts";

const search = { groups: ["g"], topics: ["out"], idPrefix: "p." };
const now = 10_000_000;

describe("transactions that hang", () => {
  test("nothing open costs one look", async () => {
    const transactions = fakeTransactions();
    expect(await findHanging(transactions, search, now)).toEqual([]);
    expect(transactions.looks).toBe(1);
  });

  test("are those that their coordinator does not know of any more", async () => {
    const transactions = fakeTransactions();
    transactions.open = [openTransaction(), openTransaction({ partition: 1 })];
    transactions.recorded.set(
      "p.id",
      described("Ongoing", { partitions: [{ topic: "out", partitions: [1] }] }), // that one will end
    );
    const found = await findHanging(transactions, search, now);
    expect(found).toMatchObject([{ partition: 0, transactionalId: "p.id", state: "Ongoing", outcome: undefined }]);
  });

  test("one that ends while its coordinator is asked is none", async () => {
    const transactions = fakeTransactions();
    transactions.open = [openTransaction()];
    transactions.recorded.set("p.id", described("CompleteCommit"));
    transactions.lookAt = () => Promise.resolve({ open: [], unseen: [] });
    expect(await findHanging(transactions, search, now)).toEqual([]);
  });

  test("others' are named in our topics, not in the partition that their groups share with ours", async () => {
    const transactions = fakeTransactions();
    transactions.open = [openTransaction(), openTransaction({ topic: "__consumer_offsets" })];
    transactions.recorded.set("another", described("CompleteAbort"));
    expect(await findHanging(transactions, search, now)).toMatchObject([{ topic: "out", transactionalId: "another" }]);
  });

  test("of an unknown id are reported once they exceed every broker's transaction timeout", async () => {
    const transactions = fakeTransactions();
    transactions.open = [openTransaction({ lastTimestamp: now - 1_000 })];
    expect(await findHanging(transactions, search, now)).toEqual([]);
    expect(await findHanging(transactions, search, now + 900_000)).toMatchObject([
      {
        ...{ transactionalId: undefined, outcome: undefined },
        remedy:
          "kafka-transactions.sh --bootstrap-server <broker> abort --topic out --partition 0 --start-offset 10 (what it wrote is lost)",
      },
    ]);
  });

  test("are ended as recorded; without a record, or once their producer went on, they are not", async () => {
    const transactions = fakeTransactions();
    transactions.open = [openTransaction()];
    transactions.recorded.set("p.id", described("CompleteCommit"));
    const found = await findHanging(transactions, search, now);
    transactions.recorded.set("p.id", described("Ongoing"));
    expect((await endHanging(transactions, found))[0]?.refused).toContain("gone on");
    transactions.recorded.set("p.id", described("CompleteCommit"));
    expect((await endHanging(transactions, found))[0]?.refused).toBeUndefined();
    expect(transactions.ended).toEqual(["marker out/0 commit"]);
    expect(await endHanging(transactions, found)).toEqual([]); // it is gone
  });

  test("a refusal is handed on", async () => {
    const transactions = fakeTransactions();
    transactions.open = [openTransaction()];
    transactions.refusal = "CLUSTER_AUTHORIZATION_FAILED";
    transactions.recorded.set("p.id", described("CompleteAbort"));
    const found = await findHanging(transactions, search, now);
    expect(await endHanging(transactions, found)).toMatchObject([{ refused: "CLUSTER_AUTHORIZATION_FAILED" }]);
  });
});
