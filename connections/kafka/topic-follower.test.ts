// The follower on a consumer whose events the test makes: when the rest of a partition counts as compacted away, and when it does not.
import { EventEmitter } from "node:events";
import type { Admin, Kafka } from "kafkajs";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { followTopic } from "./topic-follower.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function setUp() {
  const emitter = new EventEmitter();
  const done = (): Promise<void> => Promise.resolve();
  const consumer = {
    events: { FETCH: "fetch", END_BATCH_PROCESS: "end", GROUP_JOIN: "join", CRASH: "crash" },
    on: (event: string, listener: (value: unknown) => void) => emitter.on(event, listener),
    ...{ connect: done, subscribe: done, run: done, disconnect: done },
    ...{ pause: vi.fn(), resume: vi.fn(), seek: vi.fn() },
  };
  const client = { consumer: () => consumer } as unknown as Kafka;
  // Both partitions end at 5, and nothing of them ever comes.
  const offsets = [0, 1].map((partition) => ({ partition, offset: "5", high: "5", low: "0" }));
  const admin = { fetchTopicOffsets: () => Promise.resolve(offsets) } as unknown as Admin;
  const follower = followTopic(
    { client, admin: () => Promise.resolve(admin), topic: "t", log: pino({ level: "silent" }) },
    { onRecords: () => undefined },
  );
  const join = (partitions: number[]): boolean =>
    emitter.emit("join", { payload: { memberAssignment: { t: partitions } } });
  /** Many fetches that bring nothing, and a long time. */
  const quiet = async (): Promise<void> => {
    for (let i = 0; i < 30; i++) emitter.emit("fetch", { payload: {} });
    await vi.advanceTimersByTimeAsync(15_000);
  };
  const caughtUp = new Set<number>();
  for (const partition of [0, 1]) {
    follower.follow(partition, 0);
    void follower.caughtUp(partition).then(() => caughtUp.add(partition));
  }
  return { follower, join, quiet, caughtUp };
}

test("fetches that bring nothing say something of the partitions that are ours, and nothing of those that are another member's", async () => {
  const { follower, join, quiet, caughtUp } = setUp();
  join([0]);
  await quiet();
  expect([...caughtUp]).toEqual([0]);
  join([0, 1]);
  await quiet();
  expect([...caughtUp]).toEqual([0, 1]);
  await follower.stop();
});

test("without fetches a long time says nothing: the broker may be away", async () => {
  const { follower, join, caughtUp } = setUp();
  join([0, 1]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect([...caughtUp]).toEqual([]);
  await follower.stop();
  expect(caughtUp.size).toBe(2); // nobody waits for what is not followed any more
});
