import pino from "pino";
import { expect, it } from "vitest";
import type { TopicName } from "../../../schemas/records.ts";
import { createLetters, type LettersDependencies } from "./letters.ts";

/**
 * A letter at p.TOPIC 0, 7, whole in dead-letters at 0, 3, and two gateways; sent: what goes to
 * topics.
 */
function opened({
  letter = {},
  recordOf = "requests",
  fail = false,
}: { letter?: object; recordOf?: TopicName; fail?: boolean } = {}) {
  const at = { topic: `p.${recordOf}`, partition: 0, offset: 7 };
  const whole = {
    ...{ ...at, stage: "plan", tenant: "t", code: "undecodable", reason: "", key: null, value: Buffer.from([1]) },
    ...{ headers: {}, headerList: [], fullBytes: null, fullSha256: null, firstOffset: 7, createdAt: 1, ...letter },
  };
  const sent: { topic: string }[] = [];
  const committed = new Set<string>();
  const newest = new Map<string, symbol>();
  const kafka = {
    followTopic: (_topic: string, { onRecords }: { onRecords: (records: object[]) => void }) => ({
      follow: () => onRecords([{ offset: 3, value: Buffer.from("letter") }]),
      stop: () => Promise.resolve(),
    }),
    spans: () => Promise.resolve([{ partition: 0 }]),
    lag: (group: string) => Promise.resolve([{ partition: 0, committed: committed.has(group) ? 4 : undefined }]),
    transactionalProducer(id: string) {
      const own = Symbol();
      return {
        initialise: () => Promise.resolve(void newest.set(id, own)),
        transact({ group, messages }: { group: string; messages: { topic: string }[] }) {
          if (fail) return Promise.reject(new Error("timed out"));
          if (newest.get(id) !== own) return Promise.reject(new Error("fenced"));
          committed.add(group);
          sent.push(...messages);
          return Promise.resolve();
        },
        close: () => Promise.resolve(),
      };
    },
  };
  const codec = { decode: () => Promise.resolve({ ok: true, value: whole }), encode: () => Buffer.alloc(0) };
  const session = { kafka, codec, log: pino({ level: "silent" }), topic: (name: string) => `p.${name}` };
  const row = { ...at, stage: "plan", retriedAt: null, headers: [], kafkaPartition: 0, kafkaOffset: 3 };
  const gateway = () =>
    createLetters({
      session: session as unknown as LettersDependencies["session"],
      clickhouse: { query: <R>() => Promise.resolve([row] as R[]) },
      ...{ recordOf: () => recordOf, clock: () => 9 },
    });
  const [one, other] = [gateway(), gateway()];
  const retry = (by = one) => by.retry({ ...at, stage: "plan" });
  return { retry, retryElsewhere: () => retry(other), topics: () => sent.map(({ topic }) => topic) };
}

it("sends a record once, however often, at once and by which gateway it is asked for", async () => {
  const { retry, retryElsewhere, topics } = opened();
  const done = await Promise.allSettled([retry(), retryElsewhere(), retry()]);
  expect(done.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected", "rejected"]);
  await expect(retry()).rejects.toThrow("sent again already");
  await expect(retryElsewhere()).rejects.toThrow("sent again already");
  expect(topics()).toEqual(["p.requests", "p.dead-letters"]);
});

it.each(["examples", "policies"] as const)("sends no state of %s again: a newer one may be there", async (recordOf) => {
  const { retry, topics } = opened({ recordOf });
  await expect(retry()).rejects.toThrow(`take the place of what p.${recordOf} has`);
  expect(topics()).toEqual([]);
});

it.each([
  ["only the beginning of its record", { fullBytes: 9_000_000 }],
  ["a batch of records", { firstOffset: 5 }],
  ["its headers can't be sent", { headerList: [{ name: "a", value: null }] }],
  ["its headers can't be sent", { headerList: ["b", "1"].map((name) => ({ name, value: Buffer.alloc(0) })) }],
  ["no longer has its bytes", { offset: 8 }],
])("does not send what is not whole: %s", async (why, letter) => {
  const { retry, topics } = opened({ letter });
  await expect(retry()).rejects.toThrow(why);
  expect(topics()).toEqual([]);
});

it("says that an unanswered send may have been one, and notes nothing", async () => {
  const { retry, topics } = opened({ fail: true });
  await expect(retry()).rejects.toThrow("not known to be sent to p.requests; ask again: timed out");
  expect(topics()).toEqual([]);
});
