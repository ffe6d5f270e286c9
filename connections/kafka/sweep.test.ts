import { pino } from "pino";
import { describe, expect, test, vi } from "vitest";
import { createSweep } from "./sweep.ts";
import { described, fakeTransactions, openTransaction } from "./transactions.testing.ts";

const retriable = (): Error => Object.assign(new Error("away"), { name: "KafkaJSConnectionError", retriable: true });

function setUp() {
  const transactions = fakeTransactions();
  const log = pino({ level: "silent" });
  const error = vi.spyOn(log, "error");
  const reach = () => ({ groups: ["g"], topics: ["out"] });
  const sweep = createSweep({ transactions, transactionalId: "id", reach, log });
  /** What the coordinator makes of it: a new epoch, and no record of the old one. */
  const initialise = (): void => {
    const former = transactions.recorded.get("id");
    transactions.recorded.set("id", described("Empty", { epoch: (former?.epoch ?? -1) + 1 }));
  };
  return { transactions, sweep, initialise, error };
}

describe("the sweep of a producer that initialises", () => {
  test("a new id has nothing to look for", async () => {
    const { transactions, sweep } = setUp();
    await sweep.before();
    await sweep.after();
    expect([transactions.looks, transactions.ended]).toEqual([0, []]);
  });

  test("in the normal case it looks once, and ends nothing", async () => {
    const { transactions, sweep, initialise } = setUp();
    transactions.recorded.set("id", described("CompleteCommit"));
    transactions.open = [openTransaction({ producerId: "8" })]; // another producer is at work
    await sweep.before();
    initialise();
    await sweep.after();
    expect([transactions.looks, transactions.ended]).toEqual([1, []]);
  });

  test.each([
    ["CompleteCommit", "commit"],
    ["CompleteAbort", "abort"],
    ["Empty", "abort"], // no client has learned of a commit
  ])("with %s on record it ends what is open by a marker: %s, before the record is erased", async (state, outcome) => {
    const { transactions, sweep } = setUp();
    transactions.recorded.set("id", described(state));
    transactions.open = [openTransaction(), openTransaction({ topic: "__consumer_offsets", partition: 3 })];
    await sweep.before();
    expect(transactions.ended).toEqual([`marker out/0 ${outcome}`, `marker __consumer_offsets/3 ${outcome}`]);
  });

  test("what was still under way is looked at once it is fenced, with the record of before", async () => {
    const { transactions, sweep, initialise } = setUp();
    transactions.recorded.set("id", described("PrepareCommit"));
    transactions.open = [openTransaction()];
    await sweep.before();
    expect(transactions.ended).toEqual([]);
    initialise();
    await sweep.after();
    expect(transactions.ended).toEqual(["marker out/0 commit"]);
  });

  test("the record outlives attempts that fail after it was erased", async () => {
    const { transactions, sweep, initialise } = setUp();
    transactions.recorded.set("id", described("PrepareCommit"));
    transactions.open = [openTransaction()];
    await sweep.before();
    initialise();
    // ... and the broker went away before after(); the next attempt begins from the start.
    await sweep.before();
    await sweep.after();
    expect(transactions.ended).toEqual(["marker out/0 commit"]);
  });

  test.each([
    ["CompleteCommit", "commit"],
    ["CompleteAbort", "abort"],
  ])("where no marker may be written, its own transaction has the outcome of %s", async (state, outcome) => {
    const { transactions, sweep, initialise } = setUp();
    transactions.recorded.set("id", described(state));
    transactions.open = [openTransaction()];
    transactions.refusal = "CLUSTER_AUTHORIZATION_FAILED";
    await sweep.before();
    expect(transactions.ended).toEqual([]);
    initialise();
    await sweep.after();
    expect(transactions.ended).toEqual([`own out/0 ${outcome}`]);
    expect(transactions.open).toEqual([]);
  });

  test("where it may not even look, it does the same blindly", async () => {
    const { transactions, sweep, initialise } = setUp();
    transactions.recorded.set("id", described("CompleteCommit"));
    transactions.unseen = [{ topic: "__consumer_offsets", partition: -1, why: "forbidden" }];
    await sweep.before();
    initialise();
    await sweep.after();
    expect(transactions.ended).toEqual(["own __consumer_offsets/-1 commit"]);
  });

  test("a transaction that cannot be ended is reported with the command that ends it, and the producer goes on", async () => {
    const { transactions, sweep, initialise, error } = setUp();
    transactions.recorded.set("id", described("CompleteCommit"));
    transactions.open = [openTransaction()];
    transactions.refusal = "CLUSTER_AUTHORIZATION_FAILED";
    transactions.endByOwn = () => Promise.resolve();
    await sweep.before();
    initialise();
    await sweep.after();
    const { command } = (error.mock.calls as unknown as [{ command: string }][])[0]![0];
    expect(command).toBe(
      "kafka-transactions.sh --bootstrap-server <broker> abort --topic out --partition 0 --start-offset 10",
    );
  });

  test("a producer that went on meanwhile is left alone until it is fenced", async () => {
    const { transactions, sweep, initialise } = setUp();
    transactions.recorded.set("id", described("CompleteCommit"));
    transactions.open = [openTransaction()];
    const describeOnce = vi.spyOn(transactions, "describe");
    describeOnce.mockResolvedValueOnce(described("CompleteCommit")).mockResolvedValueOnce(described("Ongoing"));
    await sweep.before();
    expect(transactions.ended).toEqual([]);
    initialise();
    await sweep.after();
    expect(transactions.ended).toEqual(["marker out/0 commit"]);
  });

  test("waits for a broker that is away; one that refuses the query delays no producer", async () => {
    const { transactions, sweep } = setUp();
    transactions.recorded.set("id", described("CompleteAbort"));
    transactions.open = [openTransaction()];
    vi.spyOn(transactions, "look").mockRejectedValueOnce(retriable());
    await sweep.before();
    expect(transactions.ended).toEqual(["marker out/0 abort"]);
    vi.spyOn(transactions, "describe").mockRejectedValue(new Error("not for you"));
    await sweep.before();
    await sweep.after();
  });
});
