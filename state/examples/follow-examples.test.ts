import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { silent } from "../../runtime/doubles.testing.ts";
import { followExamples } from "./follow-examples.ts";

type FollowedExamples = Awaited<ReturnType<typeof followExamples>>;

let running: FollowedExamples | undefined;
afterEach(() => running?.stop());

/** held: positions of the pool. The topic has offsets 2 to 50 in each partition. */
function setUp(held: Record<number, number> = {}) {
  const calls: string[] = [];
  const ready = new Map<number, () => void>();
  /** looks: under way. */
  const topic = { partitions: 3, isAway: false, awayMs: 0, looks: 0, mostLooks: 0 };
  const follow = async (): Promise<FollowedExamples> =>
    (running = await followExamples({
      follower: {
        follow: (partition, from) => void calls.push(`follow ${partition} from ${from}`),
        caughtUp: (partition) => new Promise((resolve) => void ready.set(partition, resolve)),
      },
      pool: {
        position: (partition) => (held[partition] === undefined ? null : BigInt(held[partition])),
        release: (partition) => Promise.resolve(void calls.push(`release ${partition}`)),
      },
      async spans() {
        topic.mostLooks = Math.max(topic.mostLooks, ++topic.looks);
        if (topic.isAway) await sleep(topic.awayMs);
        topic.looks--;
        if (topic.isAway) throw new Error("no broker");
        return Array.from({ length: topic.partitions }, (_, partition) => ({ partition, beginning: 2, end: 50 }));
      },
      log: silent,
      everyMs: 5,
    }));
  return {
    topic,
    calls,
    follow,
    restore: (...partitions: number[]) => partitions.forEach((one) => ready.get(one)?.()),
  };
}

test("every partition is followed from where the pool is, and all of them are waited for", async () => {
  const { calls, follow, restore } = setUp({ 1: 30 });
  const followed = await follow();
  expect(calls).toEqual(["follow 0 from 2", "follow 1 from 30", "follow 2 from 2"]);
  let isRestored = false;
  const restored = followed.restored().then(() => (isRestored = true));
  restore(0, 1);
  await sleep(0);
  expect(isRestored).toBe(false);
  restore(2);
  await restored;
});

test("a position that the topic never had, or has no more, is given up and the partition read anew", async () => {
  const { calls, follow } = setUp({ 0: 51, 1: 1, 2: 50 });
  await follow();
  expect(calls).toEqual(["release 0", "follow 0 from 2", "release 1", "follow 1 from 2", "follow 2 from 50"]);
});

test("waits for the broker, and follows a partition that was added, once", async () => {
  const { topic, calls, follow } = setUp();
  topic.isAway = true;
  const following = follow();
  await sleep(20);
  expect(calls).toEqual([]);
  topic.isAway = false;
  await following;
  calls.length = 0;
  topic.partitions = 4;
  await expect.poll(() => calls).toEqual(["follow 3 from 2"]);
  await sleep(20);
  expect(calls).toHaveLength(1);
});

test("looks for added partitions don't pile up while the broker is away", async () => {
  const { topic, follow } = setUp();
  const followed = await follow();
  Object.assign(topic, { isAway: true, awayMs: 40, mostLooks: 0 });
  await sleep(100);
  await followed.stop();
  expect([topic.mostLooks, topic.looks]).toEqual([1, 0]);
  topic.mostLooks = 0;
  await sleep(60);
  expect(topic.mostLooks).toBe(0);
});
