import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { EndedTransaction, HangingTransaction } from "../connections/kafka/port.ts";
import { watchHanging } from "./hanging-watch.ts";
import { silent } from "./doubles.testing.ts";

const hung = (more: Partial<HangingTransaction> = {}): HangingTransaction => ({
  ...{
    topic: "out",
    partition: 0,
    producerId: "7",
    epoch: 5,
    openSince: 10,
    lastTimestamp: 1_000,
    coordinatorEpoch: 0,
  },
  ...{ transactionalId: "g.one", state: "CompleteCommit", outcome: "commit", remedy: "repair it" },
  ...more,
});
beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function setUp(refused?: string) {
  let found: HangingTransaction[] = [];
  const endTransactions = vi.fn((list: readonly HangingTransaction[]) =>
    Promise.resolve(list.map((transaction): EndedTransaction => ({ transaction, refused }))),
  );
  const search = () => ({ groups: ["g"], topics: ["out"], idPrefix: "g" });
  const kafka = { hangingTransactions: () => Promise.resolve(found), endTransactions };
  const watch = watchHanging({ kafka, search, log: silent, everyMs: 1_000 });
  return { watch, endTransactions, find: (list: HangingTransaction[]) => (found = list) };
}
const looks = (count: number) => vi.advanceTimersByTimeAsync(count * 1_000);

test("what hangs at two looks is ended, what is gone at the second was none", async () => {
  const { endTransactions, find, watch } = setUp();
  find([hung(), hung({ partition: 1 })]);
  await looks(1);
  expect(endTransactions).not.toHaveBeenCalled();
  find([hung(), hung({ partition: 1, openSince: 99 })]); // another one
  await looks(1);
  expect(endTransactions).toHaveBeenCalledExactlyOnceWith([hung()]);
  expect(watch.problems()).toEqual([]);
  watch.stop();
});

test("a refused transaction is reported once, with its remedy, until it is gone", async () => {
  const { endTransactions, find, watch } = setUp("CLUSTER_AUTHORIZATION_FAILED");
  find([hung(), hung({ topic: "__consumer_offsets", outcome: undefined, remedy: "abort it" })]);
  await looks(5);
  expect(endTransactions).toHaveBeenCalledTimes(1);
  const [committed, unrecorded] = watch.problems();
  expect(committed).toMatch(/of g\.one hangs in out-0: repair it/);
  expect(unrecorded).toMatch(/__consumer_offsets-0: abort it/);
  find([]);
  await looks(1);
  expect(watch.problems()).toEqual([]);
  watch.stop();
});
