import { describe, expect, it } from "vitest";
import type { FollowHandlers, RawRecord } from "../../connections/kafka/port.ts";
import type { Codec } from "../../connections/registry/port.ts";
import { silent } from "../../runtime/doubles.testing.ts";
import type { Topic } from "../../schemas/records.ts";
import type { SeenId } from "../../schemas/types.ts";
import { NOW } from "../values.testing.ts";
import { createRestore } from "./restore.ts";
import { createSeenIds, mostSeen, SEEN_FOR_MS } from "./seen.ts";

const row = (requestId: string, offset: number, more: Partial<SeenId> = {}): SeenId => ({
  ...{ requestId, tenant: "acme", offset, hash: `h-${requestId}`, seenAt: NOW - 1_000, ...more },
});
const raw = (value: SeenId, offset: number): RawRecord => ({
  ...{
    offset,
    key: Buffer.from(value.requestId),
    value: Buffer.from(JSON.stringify(value)),
    headers: {},
    timestamp: NOW,
  },
});

/** Partitions of seen-ids; each is read when the test says so. */
function setUp(rows: Record<number, SeenId[]>, end = 50) {
  const calls: string[] = [];
  const caughtUp = new Map<number, (() => void)[]>();
  let handlers: FollowHandlers | undefined;
  const seen = createSeenIds();
  const restore = createRestore({
    kafka: {
      spans: () => Promise.resolve(Object.keys(rows).map((key) => ({ partition: Number(key), beginning: 2, end }))),
      followTopic(_topic, given) {
        handlers = given;
        return {
          follow: (partition, from) => void calls.push(`follow ${partition} from ${from}`),
          unfollow(partition) {
            calls.push(`unfollow ${partition}`);
            for (const resolve of caughtUp.get(partition)?.splice(0) ?? []) resolve();
          },
          position: () => 0,
          caughtUp: (partition) =>
            new Promise((resolve) => void caughtUp.set(partition, [...(caughtUp.get(partition) ?? []), resolve])),
          stop: () => Promise.resolve(),
        };
      },
    },
    codec: {
      decode: (_topic: string, value: Buffer) => ({ ok: true, value: JSON.parse(String(value)) }),
    } as unknown as Codec,
    ...{ topic: "p.seen-ids" as Topic<"seen-ids">, requests: "p.requests", seen, clock: () => NOW, log: silent },
  });
  return {
    ...{ restore, seen, calls },
    /** Delivers a partition's records and, unless told otherwise, says that it is read. */
    async read(partition: number, waiting = true) {
      await handlers?.onRecords((rows[partition] ?? []).map(raw), { partition, next: end, isStale: () => false });
      if (waiting) caughtUp.get(partition)?.shift()?.();
    },
  };
}
const repeatOf = (seen: ReturnType<typeof createSeenIds>, id: string, partition = 0) =>
  seen.firstSeen("acme", id, { topic: "p.requests", partition, offset: 1_000 }, NOW, "h");

describe("ids restored from the topic seen-ids", () => {
  it("are those of the partitions asked for, each with the position and the hash of its first request", async () => {
    const { restore, seen, calls, read } = setUp({ 0: [row("a", 7), row("b", 9)], 1: [row("c", 3)] });
    const adopted = restore.adopt([0]);
    await Promise.resolve();
    await read(0);
    await adopted;
    expect(calls).toEqual(["follow 0 from 2", "unfollow 0"]);
    expect(repeatOf(seen, "a")).toEqual({ topic: "p.requests", partition: 0, offset: 7 });
    expect(seen.hashOf("acme", "b")).toBe("h-b");
    expect(repeatOf(seen, "c")).toBeNull();
  });

  it("leave out what is older than a day, and begin where the newest of them may lie", async () => {
    const { restore, seen, calls, read } = setUp({ 0: [row("old", 1, { seenAt: NOW - SEEN_FOR_MS })] }, 1_000_000);
    const adopted = restore.adopt([0]);
    await Promise.resolve();
    await read(0);
    await adopted;
    expect(calls[0]).toBe(`follow 0 from ${1_000_000 - 3 * mostSeen}`);
    expect(seen.size()).toBe(0);
  });

  it("are waited for until they are read; a partition that is dropped is waited for no more", async () => {
    const { restore } = setUp({ 0: [], 1: [] });
    const adopted: number[] = [];
    const [zero, one] = [restore.adopt([0]), restore.adopt([1])];
    void zero.then(() => adopted.push(0));
    await new Promise(setImmediate);
    expect([restore.waiting(), adopted]).toEqual([2, []]);
    restore.drop(1);
    await one;
    expect([restore.waiting(), adopted]).toEqual([1, []]);
  });

  it("are read to the end by the newest reading, whatever becomes of one before it", async () => {
    const { restore, calls, read } = setUp({ 0: [row("a", 7)] });
    const first = restore.adopt([0]);
    await new Promise(setImmediate);
    const second = restore.adopt([0]);
    await new Promise(setImmediate);
    await read(0);
    await first;
    expect(calls.filter((call) => call.startsWith("unfollow"))).toEqual([]);
    await read(0);
    await second;
    expect(calls.filter((call) => call.startsWith("unfollow"))).toEqual(["unfollow 0"]);
  });

  it("are not waited for where the topic has fewer partitions than requests", async () => {
    const { restore, calls } = setUp({ 0: [] });
    await restore.adopt([5]);
    expect(calls).toEqual([]);
  });

  it("wait where the brokers do not say what there is", async () => {
    const away = createRestore({
      kafka: { spans: () => Promise.reject(new Error("no broker")), followTopic: () => ({}) as never },
      ...{ codec: {} as Codec, topic: "p.seen-ids" as Topic<"seen-ids">, requests: "p.requests" },
      ...{ seen: createSeenIds(), clock: () => NOW, log: silent },
    });
    await expect(away.adopt([0])).rejects.toThrow("no broker");
  });
});
