// The follower on a consumer whose events the test makes: when the rest of a partition counts as
// compacted away, and when it does not.
import { EventEmitter } from "node:events";
import type { Kafka } from "kafkajs";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { StuckPartition } from "./port.ts";
import { followTopic } from "./topic-follower.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function setUp() {
  const emitter = new EventEmitter();
  let stuck: () => StuckPartition[] = () => [];
  const done = (): Promise<void> => Promise.resolve();
  const consumer = {
    events: { FETCH: "fetch", END_BATCH_PROCESS: "end", GROUP_JOIN: "join", CRASH: "crash" },
    on: (event: string, listener: (value: unknown) => void) => emitter.on(event, listener),
    ...{ connect: done, subscribe: done, run: done, disconnect: done },
    ...{ pause: vi.fn(), resume: vi.fn(), seek: vi.fn() },
  };
  const client = { consumer: () => consumer } as unknown as Kafka;
  // Both partitions end at 5, and nothing of them ever comes.
  const ends = [0, 1].map((partition) => ({ partition, stable: 5, high: 5 }));
  let questions = 0;
  const warnings: Record<string, unknown>[] = [];
  const now = { topicId: "first" };
  const rewound: number[] = [];
  const write = (line: string): void => void warnings.push(JSON.parse(line) as Record<string, unknown>);
  const follower = followTopic(
    {
      client,
      admin: () => Promise.reject(new Error("no admin needed")),
      ends() {
        questions++;
        return Promise.resolve(ends);
      },
      topic: "t",
      origins: () => Promise.resolve(new Map([["t", { cluster: "c", ...now }]])),
      log: pino({ level: "warn" }, { write }),
      watched(of) {
        stuck = of;
        return () => undefined;
      },
    },
    { onRecords: () => undefined, onRewound: (partition) => void rewound.push(partition) },
  );
  const join = (partitions: number[]): boolean =>
    emitter.emit("join", { payload: { memberAssignment: { t: partitions } } });
  /** Many fetches that bring nothing, and a long time. */
  const quiet = async (): Promise<void> => {
    for (let i = 0; i < 150; i++) {
      emitter.emit("fetch", { payload: {} });
      await vi.advanceTimersByTimeAsync(100);
    }
  };
  /** A batch of the partition that ends before `next` and holds markers alone. */
  const markers = (partition: number, next: number): boolean =>
    emitter.emit("end", {
      payload: { partition, batchSize: 0, firstOffset: "0", lastOffset: String(next - 1) },
    });
  const caughtUp = new Set<number>();
  for (const partition of [0, 1]) {
    follower.follow(partition, 0);
    void follower.caughtUp(partition).then(() => caughtUp.add(partition));
  }
  return {
    consumer,
    now,
    rewound,
    follower,
    join,
    quiet,
    caughtUp,
    ends,
    markers,
    warnings,
    stuck: () => stuck(),
    asked: () => questions,
  };
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
  expect(caughtUp.size).toBe(2); // waits end when a partition is no longer followed
});

test("behind an open transaction it waits however long, says so, and what comes then counts", async () => {
  const { follower, join, quiet, caughtUp, ends, markers, warnings, stuck } = setUp();
  for (const end of ends) Object.assign(end, { stable: 2 });
  join([0, 1]);
  for (let i = 0; i < 10; i++) await quiet();
  expect([...caughtUp]).toEqual([]);
  const two = { topic: "t", partition: 0, lastStableOffset: 2, end: 5, level: 40 };
  expect(warnings[0]).toMatchObject(two);
  expect(warnings.filter(({ partition }) => partition === 0)).toHaveLength(3); // once a minute
  expect(warnings.at(-1)?.ms).toBeGreaterThan(100_000);
  expect(stuck().map(({ partition, stable, high }) => [partition, stable, high])).toEqual([
    [0, 2, 5],
    [1, 2, 5],
  ]);
  for (const end of ends) Object.assign(end, { stable: 5 });
  markers(0, 5);
  await vi.advanceTimersByTimeAsync(0);
  expect([...caughtUp]).toEqual([0]);
  expect(stuck().map(({ partition }) => partition)).toEqual([1]);
  // The rest of the other was emptied while it was held: fetches since it is stable count, those
  // before do not.
  await vi.advanceTimersByTimeAsync(60_000);
  expect([...caughtUp]).toEqual([0]);
  await quiet();
  expect([...caughtUp]).toEqual([0, 1]);
  expect(stuck()).toEqual([]);
  await follower.stop();
});

test("a transaction that moves is not stuck, and one without waiting callers is reported after a while", async () => {
  const { follower, join, quiet, ends, markers, warnings, stuck } = setUp();
  join([0, 1]);
  markers(0, 5);
  markers(1, 5);
  ends[1] = { partition: 1, stable: 6, high: 9 };
  await quiet();
  await quiet();
  const [first] = stuck();
  expect(first).toMatchObject({ partition: 1, stable: 6, high: 9 });
  await quiet();
  expect(stuck()).toEqual([first]);
  expect(warnings).toHaveLength(1);
  ends[1] = { partition: 1, stable: 8, high: 12 };
  await quiet();
  await quiet();
  expect(stuck()[0]?.since).toBeGreaterThan(first?.since ?? Infinity);
  ends[1] = { partition: 1, stable: 12, high: 12 };
  await quiet();
  await quiet();
  expect(stuck()).toEqual([]);
  await follower.stop();
});

test("partitions that are quiet together cost one question", async () => {
  const { follower, join, asked, markers } = setUp();
  join([0, 1]);
  markers(0, 5);
  await vi.advanceTimersByTimeAsync(4_000);
  markers(1, 5);
  await vi.advanceTimersByTimeAsync(4_000);
  const before = asked();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked() - before).toBeLessThanOrEqual(5);
  await follower.stop();
});

test("a topic that was made anew between two fetches is read from its beginning, whatever it has grown to", async () => {
  const { follower, consumer, now, rewound, join } = setUp();
  follower.follow(0, 7);
  join([0, 1]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect([rewound, follower.position(0)]).toEqual([[], 7]);
  now.topicId = "second";
  await vi.advanceTimersByTimeAsync(5_000);
  expect([rewound.sort(), follower.position(0)]).toEqual([[0, 1], 0]);
  expect(consumer.seek).toHaveBeenLastCalledWith({ topic: "t", partition: 0, offset: "0" });
  await follower.stop();
});

test("a topic that was made anew is read from its beginning at the next join, whatever it has grown to", async () => {
  const { follower, consumer, now, rewound, join } = setUp();
  follower.follow(0, 7);
  join([0, 1]);
  await vi.advanceTimersByTimeAsync(10);
  join([0, 1]);
  await vi.advanceTimersByTimeAsync(10);
  expect([rewound, follower.position(0)]).toEqual([[], 7]);
  // While it is away it has no id.
  for (const topicId of ["", "second"]) {
    now.topicId = topicId;
    join([0, 1]);
    await vi.advanceTimersByTimeAsync(10);
  }
  expect([rewound.sort(), follower.position(0)]).toEqual([[0, 1], 0]);
  expect(consumer.seek).toHaveBeenLastCalledWith({ topic: "t", partition: 0, offset: "0" });
  await follower.stop();
});
