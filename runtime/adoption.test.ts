import { describe, expect, test, vi } from "vitest";
import { createAdoption, type AdoptionOptions } from "./adoption.ts";
import { encodeFinished } from "./finished-offsets.ts";
import { deliver, type PartitionState } from "./partition.ts";
import { at, fakeConsumer, memberOf, rawRecord, settled, silent } from "./doubles.testing.ts";

function setUp(more: Partial<AdoptionOptions> = {}) {
  const consumer = fakeConsumer();
  const onAdopt = vi.fn<AdoptionOptions["onAdopt"]>(() => Promise.resolve());
  const onDropped = vi.fn<AdoptionOptions["onDropped"]>();
  const onReady = vi.fn<AdoptionOptions["onReady"]>();
  const adoption = createAdoption({ consumer, onAdopt, onDropped, onReady, log: silent, ...more });
  const held = (): string[] => [...adoption.states()].map(({ topic, partition }) => `${topic}/${partition}`);
  return { consumer, adoption, onAdopt, onDropped, onReady, held };
}
function gate(): { promise: Promise<void>; open: () => void } {
  let open: () => void = () => undefined;
  return { promise: new Promise((resolve) => (open = resolve)), open };
}
const running = (state: PartitionState | undefined, offset: number): AbortSignal => {
  if (state === undefined) throw new Error("the partition is not held");
  deliver(state, [rawRecord(offset)], offset + 1);
  const entry = state.window.entries().find((known) => known.offset === offset);
  if (entry === undefined) throw new Error("not delivered");
  entry.state = "running";
  return entry.item.controller.signal;
};

describe("adoption", () => {
  test("goes on where the group was, with what was finished beyond, and from the beginning where there was nothing", async () => {
    const { consumer, adoption, onAdopt, onReady } = setUp();
    consumer.positions.set("in/0", { offset: 10, metadata: encodeFinished([2, 3]) });
    consumer.positions.set("in/1", { beginning: 4 });
    onAdopt.mockImplementation(() => {
      expect(consumer.calls).toEqual([]); // state first, records then
      return Promise.resolve();
    });
    adoption.join(memberOf(1), [at(0), at(1)]);
    await settled();
    expect(onAdopt).toHaveBeenCalledWith([at(0), at(1)]);
    expect(consumer.calls).toEqual(["seek in/0 10", "seek in/1 4", "resume in/0", "resume in/1"]);
    expect(onReady).toHaveBeenCalledTimes(1);
    const zero = adoption.state("in", 0)!;
    expect(
      deliver(
        zero,
        [10, 11, 12, 13, 14].map((offset) => rawRecord(offset)),
        15,
      ),
    ).toBe(3);
  });

  test("where retention has overtaken the group it takes what is left, and nothing of it counts as finished", async () => {
    const { consumer, adoption } = setUp();
    consumer.positions.set("in/0", { offset: 10, metadata: encodeFinished([95]), beginning: 100 });
    adoption.join(memberOf(1), [at(0)]);
    await settled();
    expect(consumer.calls[0]).toBe("seek in/0 100");
    expect(deliver(adoption.state("in", 0)!, [rawRecord(105)], 106)).toBe(1);
  });

  test("a position beyond the end is looked at again before it is given up for the end that there is", async () => {
    const onReset = vi.fn();
    const { consumer, adoption, onReady } = setUp({ onReset, confirmTruncationMs: 100 });
    consumer.positions.set("in/0", { offset: 60, end: 50 });
    adoption.join(memberOf(1), [at(0)]);
    await settled();
    expect(consumer.calls).toEqual([]);
    await vi.waitFor(() => expect(onReady).toHaveBeenCalledTimes(1));
    expect(consumer.calls).toEqual(["seek in/0 50", "resume in/0"]);
    expect(onReset).toHaveBeenCalledExactlyOnceWith(at(0), "truncated");
  });

  test("a broker that did not know its end yet costs nothing but the second look", async () => {
    const onReset = vi.fn();
    const { consumer, adoption, onReady } = setUp({ onReset });
    consumer.positions.set("in/0", { offset: 60, end: 50 });
    adoption.join(memberOf(1), [at(0)]);
    await settled();
    consumer.positions.set("in/0", { offset: 60, end: 60 });
    await vi.waitFor(() => expect(onReady).toHaveBeenCalledTimes(1));
    expect(consumer.calls).toEqual(["seek in/0 60", "resume in/0"]);
    expect(onReset).not.toHaveBeenCalled();
  });

  test("a topic that was made anew under a stage is read from its beginning", async () => {
    const onReset = vi.fn();
    const { consumer, adoption, onDropped } = setUp({ onReset });
    const [first, second] = [
      { cluster: "c", topicId: "first" },
      { cluster: "c", topicId: "second" },
    ];
    consumer.origin = first;
    consumer.positions.set("in/0", { offset: 7, origin: first, current: first });
    adoption.join(memberOf(1), [at(0)]);
    await settled();
    await adoption.compareOrigins();
    expect(onDropped).not.toHaveBeenCalled();
    consumer.origin = second;
    consumer.positions.set("in/0", { offset: 7, origin: first, current: second });
    consumer.calls.length = 0;
    await adoption.compareOrigins();
    await settled();
    expect(consumer.calls).toEqual(["pause in/0", "seek in/0 0", "resume in/0"]);
    expect(onReset).toHaveBeenCalledExactlyOnceWith(at(0), "another_topic");
    await adoption.compareOrigins();
    expect(onDropped).toHaveBeenCalledTimes(1);
  });

  test("an adoption that the next join overtakes touches nothing", async () => {
    const { consumer, adoption, held, onReady } = setUp();
    const first = gate();
    consumer.gate = first.promise;
    adoption.join(memberOf(1), [at(0)]);
    consumer.gate = undefined;
    adoption.join(memberOf(2), [at(1)]);
    await settled();
    first.open();
    await settled();
    expect(held()).toEqual(["in/1"]);
    expect(consumer.calls).toEqual(["seek in/1 0", "resume in/1"]);
    expect(onReady).toHaveBeenCalledTimes(1);
  });

  test("so does one that is overtaken while its state is restored, and that state is given up where it went elsewhere", async () => {
    const onAbandoned = vi.fn<NonNullable<AdoptionOptions["onAbandoned"]>>();
    const { consumer, adoption, held, onAdopt } = setUp({ onAbandoned });
    const first = gate();
    onAdopt.mockReturnValueOnce(first.promise);
    adoption.join(memberOf(1), [at(0), at(1)]);
    await settled();
    adoption.join(memberOf(2), [at(1)]);
    await settled();
    first.open();
    await settled();
    expect([held(), consumer.calls]).toEqual([["in/1"], ["seek in/1 0", "resume in/1"]]);
    expect(onAbandoned.mock.calls).toEqual([[at(0)]]);
  });

  test("the same member in the next generation keeps what it holds, at its position in memory", async () => {
    const { consumer, adoption, onDropped, onReady } = setUp();
    adoption.join(memberOf(1), [at(0), at(1)]);
    await settled();
    const [zero, one] = [adoption.state("in", 0), adoption.state("in", 1)];
    const [kept, lost] = [running(zero, 7), running(one, 3)];
    zero!.paused = true;
    consumer.calls.length = 0;
    adoption.join(memberOf(2), [at(0), at(2)]);
    // Synchronously: the lost call is aborted, the kept partition goes on.
    expect([kept.aborted, lost.aborted]).toEqual([false, true]);
    expect(onDropped).toHaveBeenCalledExactlyOnceWith(one);
    expect(adoption.state("in", 0)).toBe(zero);
    expect(zero?.paused).toBe(false);
    expect(consumer.calls).toEqual(["seek in/0 8", "resume in/0"]);
    expect(onReady).toHaveBeenLastCalledWith([zero]);
    await settled();
    expect(consumer.calls.slice(2)).toEqual(["seek in/2 0", "resume in/2"]);
  });

  test("and the same member in the same generation: what it commits just now may still go through", async () => {
    const { consumer, adoption, onDropped } = setUp();
    adoption.join(memberOf(1), [at(0)]);
    await settled();
    const zero = adoption.state("in", 0);
    const kept = running(zero, 7);
    consumer.calls.length = 0;
    // kafkajs gave up, and joined again before the coordinator had missed it.
    adoption.join(memberOf(1), [at(0)]);
    await settled();
    expect([kept.aborted, onDropped.mock.calls]).toEqual([false, []]);
    expect(adoption.state("in", 0)).toBe(zero);
    expect(consumer.calls).toEqual(["seek in/0 8", "resume in/0"]);
  });

  test.each([
    ["a generation was missed", memberOf(3)],
    ["it is another member", memberOf(2, "another")],
  ])("nothing is kept when %s: another may have had the partition", async (_why, next) => {
    const { consumer, adoption, onDropped } = setUp();
    adoption.join(memberOf(1), [at(0)]);
    await settled();
    const before = adoption.state("in", 0);
    const signal = running(before, 0);
    consumer.positions.set("in/0", { offset: 1 });
    adoption.join(next, [at(0)]);
    expect(signal.aborted).toBe(true);
    await settled();
    expect(onDropped).toHaveBeenCalledTimes(1);
    expect(adoption.state("in", 0)).not.toBe(before);
    expect(adoption.state("in", 0)?.window.next()).toBe(1);
  });

  test("a member that was fenced keeps nothing either", async () => {
    const { adoption, onDropped } = setUp();
    const member = memberOf(1);
    adoption.join(member, [at(0)]);
    await settled();
    adoption.forget(memberOf(1)); // an equal one, but not the one in office
    expect(adoption.member()).toBe(member);
    adoption.forget(member);
    expect(adoption.member()).toBeUndefined();
    adoption.join(memberOf(2), [at(0)]);
    expect(onDropped).toHaveBeenCalledTimes(1);
  });

  test("tries again while positions are unstable and while the state can't be restored", async () => {
    const { consumer, adoption, onAdopt, onReady } = setUp();
    consumer.positions.set("in/0", new Error("unstable"));
    onAdopt.mockRejectedValueOnce(new Error("ClickHouse is away"));
    adoption.join(memberOf(1), [at(0)]);
    await settled();
    expect([consumer.calls, onAdopt.mock.calls]).toEqual([[], []]);
    consumer.positions.set("in/0", { offset: 5 });
    await vi.waitFor(() => expect(onReady).toHaveBeenCalledTimes(1));
    expect(onAdopt).toHaveBeenCalledTimes(2);
    expect(consumer.calls).toEqual(["seek in/0 5", "resume in/0"]);
  });

  test("a partition that can't be read holds up no other, and is taken when it can", async () => {
    const { consumer, adoption, onAdopt, onReady, held } = setUp();
    consumer.positions.set("in/0", new Error("unstable"));
    consumer.positions.set("in/1", { offset: 7 });
    adoption.join(memberOf(1), [at(0), at(1), at(2)]);
    await settled();
    expect(held()).toEqual(["in/1", "in/2"]);
    expect(onAdopt).toHaveBeenCalledExactlyOnceWith([at(1), at(2)]);
    expect(consumer.calls).toEqual(["seek in/1 7", "seek in/2 0", "resume in/1", "resume in/2"]);
    consumer.positions.set("in/0", { offset: 5 });
    await vi.waitFor(() => expect(held()).toEqual(["in/1", "in/2", "in/0"]));
    expect(onAdopt).toHaveBeenLastCalledWith([at(0)]);
    expect(onReady).toHaveBeenCalledTimes(2);
    expect(consumer.calls.slice(4)).toEqual(["seek in/0 5", "resume in/0"]);
  });

  test("what waits when the next join comes is given up, what was taken is kept", async () => {
    const onAbandoned = vi.fn<NonNullable<AdoptionOptions["onAbandoned"]>>();
    const { consumer, adoption, held } = setUp({ onAbandoned });
    consumer.positions.set("in/0", new Error("unstable"));
    adoption.join(memberOf(1), [at(0), at(1)]);
    await settled();
    adoption.join(memberOf(2), [at(1)]);
    await vi.waitFor(() => expect(onAbandoned.mock.calls).toEqual([[at(0)]]));
    expect(held()).toEqual(["in/1"]);
  });

  test("anew: everything is dropped, paused and read again", async () => {
    const { consumer, adoption, onDropped } = setUp();
    adoption.join(memberOf(1), [at(0), at(1)]);
    await settled();
    const signal = running(adoption.state("in", 0), 0);
    consumer.calls.length = 0;
    consumer.positions.set("in/0", { offset: 1 });
    adoption.anew();
    expect(signal.aborted).toBe(true);
    expect(onDropped).toHaveBeenCalledTimes(2);
    expect(consumer.calls).toEqual(["pause in/0", "pause in/1"]);
    await settled();
    expect(consumer.calls.slice(2)).toEqual(["seek in/0 1", "seek in/1 0", "resume in/0", "resume in/1"]);
  });

  test("stopped, it lets everything go and heeds no join any more", async () => {
    const { consumer, adoption, held, onDropped } = setUp();
    adoption.join(memberOf(1), [at(0)]);
    await settled();
    adoption.stop();
    consumer.calls.length = 0;
    adoption.join(memberOf(2), [at(0)]);
    adoption.anew();
    await settled();
    expect([held(), consumer.calls, onDropped.mock.calls.length]).toEqual([[], [], 1]);
  });
});
