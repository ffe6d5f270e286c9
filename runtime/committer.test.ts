import { describe, expect, test, vi } from "vitest";
import { NoSuchPartition, TransactionAborted, TransactionOutcomeUnknown } from "../connections/kafka/errors.ts";
import type { GroupMember } from "../connections/kafka/port.ts";
import { createCommitter, type CommitterOptions } from "./committer.ts";
import { decodeFinished } from "./finished-offsets.ts";
import type { PartitionState } from "./partition.ts";
import { fakeProducer, finish, memberOf, partitionWith, settled, silent, valuesOf } from "./doubles.testing.ts";

function setUp(states: PartitionState[], more: Partial<CommitterOptions> = {}) {
  const producer = fakeProducer();
  const its: { member: GroupMember | undefined; states: PartitionState[] } = { member: memberOf(1), states };
  const onFenced = vi.fn((former: GroupMember) => {
    if (its.member === former) its.member = undefined;
  });
  const onUnknown = vi.fn<CommitterOptions["onUnknown"]>(() => Promise.resolve(new Set()));
  const onCommitted = vi.fn();
  const onWithheld = vi.fn();
  const rejected = vi.fn<CommitterOptions["rejected"]>(() =>
    Promise.resolve([{ topic: "dead-letters", key: null, value: Buffer.from("letter") }]),
  );
  const committer = createCommitter({
    producer,
    group: "g",
    partitions: () => its.states,
    member: () => its.member,
    onCommitted,
    onFenced,
    onUnknown,
    rejected,
    onWithheld,
    log: silent,
    ...more,
  });
  return { producer, its, onFenced, onUnknown, onCommitted, onWithheld, rejected, committer };
}
const fenced = new TransactionAborted(Object.assign(new Error("old"), { type: "ILLEGAL_GENERATION" }), true);
const away = new TransactionAborted(Object.assign(new Error("away"), { retriable: true }), false);
const tooLarge = new TransactionAborted(Object.assign(new Error("large"), { type: "MESSAGE_TOO_LARGE" }), false);
const unknown = new TransactionOutcomeUnknown(new Error("cut"));
/** Refuses every transaction with an output that says so. */
const refusing = (word: string) => (transaction: Parameters<typeof valuesOf>[0][number]) =>
  valuesOf([transaction]).some((value) => value.includes(word)) ? tooLarge : undefined;

describe("committer", () => {
  test("commits outputs and positions of all partitions together, finished in whatever order", async () => {
    const { producer, committer, onCommitted } = setUp([
      partitionWith(0, [5, 6, 7, 8], [6, 8]),
      partitionWith(1, [0, 1], [0]),
    ]);
    committer.kick();
    await committer.idle();
    expect(producer.committed).toHaveLength(1);
    const [transaction] = producer.committed;
    expect(transaction).toMatchObject({ group: "g", member: { id: "me", generation: 1 } });
    const [zero, one] = transaction?.offsets[0]?.partitions ?? [];
    expect([zero?.offset, decodeFinished(zero?.metadata ?? "")]).toEqual(["5", [1, 3]]);
    expect([one?.offset, one?.metadata]).toEqual(["1", ""]);
    expect(valuesOf(producer.committed)).toEqual(["0/6", "0/8", "1/0"]);
    expect(onCommitted).toHaveBeenCalledTimes(2);
  });

  test("what finishes while a commit is under way goes with the next one, each record once", async () => {
    const state = partitionWith(0, [0, 1, 2], [0]);
    const { producer, committer } = setUp([state]);
    producer.outcomes = [
      () => {
        finish(state, 1);
        finish(state, 2);
        committer.kick();
        return undefined;
      },
    ];
    committer.kick();
    await committer.idle();
    expect(producer.committed.map(({ messages }) => messages.length)).toEqual([1, 2]);
    expect(producer.committed[1]?.offsets[0]?.partitions[0]?.offset).toBe("3");
  });

  test("fenced, it commits nothing more until the next join, then the same outputs as the new member", async () => {
    const { producer, its, committer, onFenced } = setUp([partitionWith(0, [0], [0])]);
    producer.outcomes = [fenced];
    committer.kick();
    await committer.idle();
    expect(onFenced).toHaveBeenCalledWith(memberOf(1));
    committer.kick();
    await committer.idle();
    expect([producer.attempts, producer.committed]).toEqual([1, []]);
    its.member = memberOf(2);
    committer.kick();
    await committer.idle();
    expect(producer.committed).toMatchObject([{ member: memberOf(2) }]);
    expect(valuesOf(producer.committed)).toEqual(["0/0"]);
  });

  test("fenced when the new join has already come, it goes on as the new member by itself", async () => {
    const { producer, its, committer } = setUp([partitionWith(0, [0], [0])]);
    producer.outcomes = [
      () => {
        its.member = memberOf(2);
        return fenced;
      },
    ];
    committer.kick();
    await committer.idle();
    expect(producer.committed).toMatchObject([{ member: memberOf(2) }]);
  });

  test("an output for a partition that does not exist goes where its key belongs, the rest of its transaction as it is", async () => {
    const states = [partitionWith(0, [0, 1], [0, 1]), partitionWith(1, [0], [0])];
    const [first, second] = states[0]?.window.entries() ?? [];
    const to = (topic: string, key: string, partition: number) => ({ topic, key, value: Buffer.from(key), partition });
    if (first !== undefined) first.item.messages = [to("responses", "a", 9), to("work", "a", 9)];
    if (second !== undefined) second.item.messages = [to("responses", "b", 1)];
    const { producer, committer, rejected } = setUp(states);
    producer.outcomes = [new TransactionAborted(new NoSuchPartition([{ topic: "responses", partition: 9 }], 4), false)];
    committer.kick();
    await committer.idle();
    expect([producer.attempts, producer.committed.length]).toEqual([2, 1]);
    expect(producer.committed[0]?.messages.map(({ topic, key, partition }) => [topic, key, partition])).toEqual([
      ["responses", "a", undefined],
      ["work", "a", 9],
      ["responses", "b", 1],
      ["out", "k", undefined],
    ]);
    expect(rejected).not.toHaveBeenCalled();
  });

  test("after an unknown outcome nothing is sent before the assignment is adopted anew", async () => {
    const { producer, its, committer, onUnknown } = setUp([partitionWith(0, [0, 1], [0, 1])]);
    producer.outcomes = [unknown];
    onUnknown.mockImplementation(async () => {
      await settled();
      expect(producer.attempts).toBe(1);
      its.states = [partitionWith(0, [1], [1])]; // 0 was committed after all
      return new Set();
    });
    committer.kick();
    await committer.idle();
    expect(valuesOf(producer.committed)).toEqual(["0/1"]);
  });

  test("after an unknown outcome what was committed is done with, and what was not is sent again as it is", async () => {
    const [one, other] = [partitionWith(0, [0, 1], [0]), partitionWith(1, [0], [0])];
    const { producer, committer, onUnknown, onCommitted } = setUp([one, other]);
    producer.outcomes = [unknown];
    onUnknown.mockImplementation((attempts) => {
      expect(attempts.map(({ position }) => position)).toEqual([
        { offset: 1, metadata: "" },
        { offset: 1, metadata: "" },
      ]);
      return Promise.resolve(new Set(attempts.filter(({ state }) => state === one)));
    });
    committer.kick();
    await committer.idle();
    expect(valuesOf(producer.committed)).toEqual(["1/0"]);
    expect(onCommitted.mock.calls.map(([state]) => state as PartitionState)).toEqual([one, other]);
    expect(one.stored).toEqual({ offset: 1, metadata: "" });
    expect(one.committed).toBe(1);
  });

  test("an aborted transaction is sent again", async () => {
    const { producer, committer } = setUp([partitionWith(0, [0], [0])]);
    producer.outcomes = [away, away];
    committer.kick();
    await committer.idle();
    expect([producer.attempts, valuesOf(producer.committed)]).toEqual([3, ["0/0"]]);
  });

  test("outputs that are too large are found one by one and replaced; all others are committed as they are", async () => {
    const states = [partitionWith(0, [0, 1, 2], [0, 2]), partitionWith(1, [0, 1], [0, 1])];
    finish(states[0]!, 1, "huge");
    const { producer, committer, rejected } = setUp(states);
    producer.outcomes = Array.from({ length: 20 }, () => refusing("huge"));
    committer.kick();
    await committer.idle();
    expect(rejected).toHaveBeenCalledTimes(1);
    expect(rejected.mock.calls[0]?.[0].offset).toBe(1);
    expect(rejected.mock.calls[0]?.[3]).toBe(false);
    expect(valuesOf(producer.committed).sort()).toEqual(["0/0", "0/2", "1/0", "1/1", "letter"]);
    // Afterwards they go together again.
    const before = producer.committed.length;
    states.push(partitionWith(2, [0, 1, 2], [0, 1, 2]));
    committer.kick();
    await committer.idle();
    expect(producer.committed).toHaveLength(before + 1);
  });

  test("a dead letter that is refused as well is made smaller, then the record is passed over", async () => {
    const { producer, committer, rejected, onWithheld } = setUp([partitionWith(0, [0, 1], [0])]);
    rejected.mockImplementation(() => Promise.resolve([{ topic: "out", key: null, value: Buffer.from("0/0 huge") }]));
    producer.outcomes = Array.from({ length: 20 }, () => refusing("0/0"));
    committer.kick();
    await committer.idle();
    expect(rejected.mock.calls.map((call) => call[3])).toEqual([false, true]);
    expect(onWithheld).toHaveBeenCalledTimes(1);
    expect(producer.committed).toHaveLength(1);
    expect(producer.committed[0]?.offsets[0]?.partitions[0]?.offset).toBe("1");
    expect(valuesOf(producer.committed)).toEqual([]);
  });

  test("records of which nothing can be sent are passed over one after the other", async () => {
    const { producer, committer, rejected, onWithheld } = setUp([
      partitionWith(0, [0, 1, 2], [0, 1, 2]),
      partitionWith(1, [0, 1], [0, 1]),
    ]);
    rejected.mockImplementation(() => Promise.resolve([{ topic: "out", key: null, value: Buffer.from("huge") }]));
    producer.outcomes = Array.from({ length: 100 }, () => refusing(""));
    committer.kick();
    await committer.idle();
    expect(onWithheld).toHaveBeenCalledTimes(5);
    expect(valuesOf(producer.committed)).toEqual([]);
  });

  test("a dead letter that can't be made delays no other task", async () => {
    const { producer, committer, rejected } = setUp([partitionWith(0, [0], [0])]);
    rejected.mockRejectedValue(new Error("a bug"));
    producer.outcomes = [tooLarge];
    committer.kick();
    await committer.idle();
    expect(producer.committed[0]?.offsets[0]?.partitions[0]?.offset).toBe("1");
  });

  test("suspects of a lost partition slow down no other partition", async () => {
    const [lost, kept] = [partitionWith(0, [0, 1], [0, 1]), partitionWith(1, [0, 1, 2], [])];
    const { producer, its, committer } = setUp([lost, kept]);
    producer.outcomes = [
      () => {
        lost.dropped = true;
        its.states = [kept];
        for (const offset of [0, 1, 2]) finish(kept, offset);
        return tooLarge;
      },
    ];
    committer.kick();
    await committer.idle();
    expect(producer.committed.map(({ messages }) => messages.length)).toEqual([3]);
  });

  test("positions that moved without work are committed when it settles, once", async () => {
    const state = partitionWith(0, [0], [0]);
    const { producer, committer } = setUp([state]);
    committer.kick();
    await committer.idle();
    state.window.advanceTo(2); // a control marker
    committer.kick();
    await committer.idle();
    expect(producer.committed).toHaveLength(1);
    committer.settle();
    await committer.idle();
    committer.settle();
    await committer.idle();
    expect(producer.committed.map(({ offsets }) => offsets[0]?.partitions[0]?.offset)).toEqual(["1", "2"]);
    expect(producer.committed[1]?.messages).toEqual([]);
  });

  test("a transaction holds no more than its limit of bytes, and at least one record", async () => {
    const state = partitionWith(0, [0, 1, 2], []);
    for (const offset of [0, 1, 2]) finish(state, offset, "x".repeat(3 * 1024 * 1024));
    const { producer, committer } = setUp([state]);
    committer.kick();
    await committer.idle();
    expect(producer.committed.map(({ messages }) => messages.length)).toEqual([1, 1, 1]);
  });

  test("stopped, it finishes the commit under way and begins no other", async () => {
    const state = partitionWith(0, [0, 1], [0]);
    const { producer, committer } = setUp([state]);
    producer.outcomes = [
      () => {
        finish(state, 1);
        committer.stop();
        return undefined;
      },
    ];
    committer.kick();
    await committer.idle();
    committer.kick();
    await committer.idle();
    expect(valuesOf(producer.committed)).toEqual(["0/0"]);
  });

  test("without a member nothing happens", async () => {
    const { producer, its, committer } = setUp([partitionWith(0, [0], [0])]);
    its.member = undefined;
    committer.kick();
    await committer.idle();
    expect(producer.attempts).toBe(0);
  });
});
