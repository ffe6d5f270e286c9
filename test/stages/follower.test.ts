// A follower of some partitions of a topic, on a real broker: from given offsets, partitions coming
// and going, and when it is caught up.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { StuckPartition, TopicFollower } from "../../connections/kafka/port.ts";
import { followTopic } from "../../connections/kafka/topic-follower.ts";
import { createLog } from "../../runtime/log.ts";
import { createTestKafka, message, type TestKafka } from "../support/kafka.ts";
import { eventually } from "../support/system.ts";

let its: TestKafka;
const open: { stop(): Promise<void> }[] = [];
beforeAll(() => {
  its = createTestKafka();
});
afterAll(async () => {
  await Promise.all(open.map((one) => one.stop()));
  await its.close();
});

function follow(topic: string): { seen: string[]; rewound: number[]; follower: TopicFollower } {
  const seen: string[] = [];
  const rewound: number[] = [];
  const follower = its.kafka.followTopic(topic, {
    onRecords: (records, { partition }) => void seen.push(...records.map(({ key }) => `${partition}:${String(key)}`)),
    onRewound: (partition) => void rewound.push(partition),
  });
  open.push(follower);
  return { seen, rewound, follower };
}
const produce = async (topic: string, ...records: [string, number][]): Promise<void> => {
  const producer = its.kafka.plainProducer();
  await producer.send(records.map(([key, partition]) => message(topic, key, partition)));
  await producer.close();
};

test("only the partitions followed are handed over, each from its offset, and those added later", async () => {
  const topic = await its.topic(3);
  await produce(topic, ["a", 0], ["b", 0], ["c", 1], ["d", 2]);
  const { seen, follower } = follow(topic);
  follower.follow(0, 1);
  await follower.caughtUp(0);
  expect(seen).toEqual(["0:b"]);
  expect([follower.position(0), follower.position(1)]).toEqual([2, undefined]);

  follower.follow(2, 0);
  follower.unfollow(0);
  await follower.caughtUp(2);
  await produce(topic, ["e", 0], ["f", 2], ["g", 1]);
  await follower.caughtUp(2);
  expect(seen).toEqual(["0:b", "2:d", "2:f"]);

  // Resumed where it was left, and from the beginning on request.
  follower.follow(0, 2);
  await follower.caughtUp(0);
  follower.follow(1, 0);
  await follower.caughtUp(1);
  expect(seen.slice(3)).toEqual(["0:e", "1:c", "1:g"]);
  follower.follow(1, 0);
  await follower.caughtUp(1);
  expect(seen.slice(6)).toEqual(["1:c", "1:g"]);
});

test("a partition that is not followed, or not any more, is not waited for", async () => {
  const topic = await its.topic(2);
  await produce(topic, ["a", 1]);
  const { follower } = follow(topic);
  await follower.caughtUp(0);
  follower.follow(0, 0);
  await follower.caughtUp(0); // empty
  follower.follow(1, 0);
  const waiting = follower.caughtUp(1);
  follower.unfollow(1);
  await waiting;
});

test("caught up behind a tail of transaction markers", async () => {
  const topic = await its.topic(2);
  const producer = its.kafka.transactionalProducer(`${topic}.id`);
  open.push({ stop: producer.close });
  await producer.initialise();
  const transact = (keys: string[]): Promise<void> =>
    producer.transact({
      group: "",
      member: { id: "", generation: -1 },
      offsets: [],
      messages: keys.map((key) => message(topic, key)),
    });
  await transact(["a"]);
  // A transaction has ended before its marker is written.
  await eventually("the marker", async () => {
    const ends = await its.kafka.ends(topic);
    return ends.some(({ partition, high }) => partition === 0 && high === 2) ? true : undefined;
  });
  const { seen, follower } = follow(topic);
  // From behind the only record: all that comes is its marker.
  follower.follow(0, 1);
  await follower.caughtUp(0);
  expect([seen, follower.position(0)]).toEqual([[], 2]);
  await transact(["b", "c"]);
  await eventually("both and the marker behind them", () =>
    Promise.resolve(follower.position(0) === 5 ? true : undefined),
  );
  expect(seen).toEqual(["0:b", "0:c"]);
});

test("an offset that the topic never had rewinds to the beginning, and says so", async () => {
  const topic = await its.topic(1);
  await produce(topic, ["a", 0]);
  const { seen, rewound, follower } = follow(topic);
  follower.follow(0, 700);
  await eventually("the record", () => Promise.resolve(seen.length > 0 ? true : undefined));
  expect([seen, rewound]).toEqual([["0:a"], [0]]);
  await follower.caughtUp(0);
  expect(follower.position(0)).toBe(1);
});

/** Impatient, so that what takes ten seconds elsewhere takes one here. */
const hasty = { quietMs: 500, fetches: 3, idleMs: 500, askMs: 100, lookMs: 50 };
function followHastily(topic: string) {
  const seen: string[] = [];
  let stuck: () => StuckPartition[] = () => [];
  const follower = followTopic(
    {
      ...{ client: its.client, topic, ends: its.kafka.ends, timings: hasty, log: createLog({ level: "silent" }) },
      admin: () => Promise.reject(new Error("no admin needed")),
      watched(of) {
        stuck = of;
        return () => undefined;
      },
    },
    { onRecords: (records) => void seen.push(...records.map(({ key }) => String(key))) },
  );
  open.push(follower);
  return { seen, follower, stuck: () => stuck() };
}

test("what is committed behind an open transaction is waited for, far beyond the time that an empty tail gets", async () => {
  const topic = await its.topic(1);
  await produce(topic, ["a", 0]);
  const holder = its.client.producer({ transactionalId: `${topic}.id`, idempotent: true, maxInFlightRequests: 1 });
  open.push({ stop: () => holder.disconnect() });
  await holder.connect();
  const transaction = await holder.transaction();
  await transaction.send({ topic, messages: [{ key: "held", value: "x", partition: 0 }] });
  await produce(topic, ["b", 0]);

  const { seen, follower, stuck } = followHastily(topic);
  follower.follow(0, 0);
  let caughtUp = false;
  const done = follower.caughtUp(0).then(() => (caughtUp = true));
  await sleep(4_000);
  expect([caughtUp, seen]).toEqual([false, ["a"]]);
  expect(stuck()).toMatchObject([{ topic, partition: 0, stable: 1, high: 3 }]);
  await transaction.abort();
  await done;
  expect(seen).toEqual(["a", "b"]);
  expect(stuck()).toEqual([]);
});

test("a tail that is really gone counts as read", async () => {
  const topic = await its.topic(1);
  await produce(topic, ["a", 0], ["b", 0]);
  const admin = its.client.admin();
  await admin.connect();
  await admin.fetchTopicOffsets(topic); // or kafkajs does not know the topic
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "2" }] });
  await admin.disconnect();
  const { seen, follower } = followHastily(topic);
  follower.follow(0, 0);
  await follower.caughtUp(0);
  expect(seen).toEqual([]);
  // It goes on with what comes.
  await produce(topic, ["c", 0]);
  await eventually("the new record", () => Promise.resolve(seen.length > 0 ? true : undefined));
  expect(seen).toEqual(["c"]);
});

test("a table that compaction has thinned out is read to its end", async () => {
  const topic = await its.topic(1, {
    ...{ "cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01" },
    ...{ "delete.retention.ms": "0", "max.compaction.lag.ms": "100" },
  });
  for (let round = 0; round < 5; round++) {
    await produce(topic, ["same", 0], ["same", 0], ["same", 0]);
    await sleep(150);
  }
  const { seen, follower } = followHastily(topic);
  // From the middle of what was thinned out, whether the cleaner has been there by now or not.
  follower.follow(0, 4);
  await follower.caughtUp(0);
  expect(seen.at(-1)).toBe("same");
  expect(follower.position(0)).toBe(15);
});
