import { expect, test, vi } from "vitest";
import type { ConsumerGroupLike } from "./kafkajs-internals.ts";
import { forgetOutOfRange, listenOutOfRange, withoutDefaultOffset } from "./kafkajs-out-of-range.ts";

const at = { topic: "in", partition: 3 };
const groupOf = (more: Partial<ConsumerGroupLike> = {}) =>
  ({ memberId: "me", pause: vi.fn(), ...more }) as unknown as ConsumerGroupLike;

test("a member with a listener has its partition paused and is notified; nothing is committed", async () => {
  const [commitDefault, listener, group] = [vi.fn(() => Promise.resolve()), vi.fn(), groupOf()];
  listenOutOfRange("me", listener);
  await withoutDefaultOffset(commitDefault).call(group, at);
  expect(listener).toHaveBeenCalledWith("in", 3);
  expect(group.pause).toHaveBeenCalledWith([{ topic: "in", partitions: [3] }]);
  expect(commitDefault).not.toHaveBeenCalled();
  forgetOutOfRange("me");
});

test("a follower that is behind, and readers that do not listen, are kafkajs' business", async () => {
  const [recover, listener] = [vi.fn(() => Promise.resolve()), vi.fn()];
  await withoutDefaultOffset(recover).call(groupOf(), at);
  await withoutDefaultOffset(recover).call(groupOf({ memberId: null }), at);
  listenOutOfRange("me", listener);
  await withoutDefaultOffset(recover).call(groupOf({ preferredReadReplicasPerTopicPartition: { in: { 3: 2 } } }), at);
  expect([recover.mock.calls.length, listener.mock.calls.length]).toEqual([3, 0]);
  forgetOutOfRange("me");
});
