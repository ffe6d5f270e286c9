import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import { describe, expect, it, vi } from "vitest";
import { createBatch } from "../operators/batch/batch.ts";
import { createMetricsRegistry, createStageMetrics } from "./metrics/stage.ts";
import type { RawRecord, SinkSource } from "../connections/kafka/port.ts";
import type { SinkDependencies, TableLines } from "./rows.ts";
import { createSink } from "./sink.ts";

type Handlers = Parameters<SinkSource["run"]>[0];

const record = (offset: number): RawRecord => ({ offset, key: null, value: null, headers: {}, timestamp: 0 });
const offsetsOf = (tables: readonly TableLines[]): number[] =>
  tables.flatMap(({ lines }) => Array.from({ length: lines.length }, (_, index) => lines.source(index).record.offset));

async function startSink(overrides: Partial<SinkDependencies> = {}) {
  let handlers: Handlers | null = null;
  const inserted: { tables: string[]; offsets: number[] }[] = [];
  const commits: number[] = [];
  const sink = createSink({
    source: {
      run: async (given) => void (handlers = given),
      commit: async (positions) => void commits.push(...positions.map(({ offset }) => offset)),
      stop: async () => {},
    },
    decode: async ({ record: { offset } }) => {
      const row = { created_at: "2026-01-01 00:00:00.000", offset };
      return {
        ok: true,
        tables: [
          { table: "derived", rows: [row] },
          { table: "own", rows: [row] },
        ],
      };
    },
    batch: createBatch({ maxRows: 20, maxBytes: 1_000_000 }),
    insert: async (tables) =>
      void inserted.push({ tables: tables.map(({ table }) => table), offsets: offsetsOf(tables) }),
    storedOffsets: async (partitions) => partitions.map((partition) => ({ ...partition, offset: undefined })),
    undecodable: async () => {},
    metrics: createStageMetrics(createMetricsRegistry(), "record"),
    log: pino({ level: "silent" }),
    batchMs: 5,
    drainMs: 1_000,
    ...overrides,
  });
  await sink.run();
  const given = handlers as Handlers | null;
  if (given === null) throw new Error("not run");
  const feed = (from: number, count: number, isStale = () => false) =>
    given.onRecords(
      "t",
      0,
      Array.from({ length: count }, (_, index) => record(from + index)),
      isStale,
    );
  return { sink, handlers: given, feed, inserted, commits };
}

describe("sink", () => {
  it("stores derived rows before those that positions are read from, everything once and in order", async () => {
    const { sink, feed, inserted, commits } = await startSink();
    for (let offset = 0; offset < 95; offset += 19) await feed(offset, 19);
    await sink.stop();
    const calls = inserted.filter(({ tables }) => tables.length > 0);
    expect(calls.map(({ tables }) => tables[0])).toEqual(calls.map((_, index) => (index % 2 ? "own" : "derived")));
    const own = calls.filter(({ tables }) => tables[0] === "own").flatMap(({ offsets }) => offsets);
    expect(own).toEqual(Array.from({ length: 95 }, (_, offset) => offset));
    expect(commits.at(-1)).toBe(95);
  });

  it("goes on after the highest offset that is stored, and stores what it holds before it asks", async () => {
    const stored = new Map<string, number>();
    const { sink, feed, handlers } = await startSink({
      batchMs: 60_000,
      insert: async (tables) => {
        for (const offset of offsetsOf(tables)) stored.set("t", offset);
      },
      storedOffsets: async (partitions) =>
        partitions.map(({ topic, partition }) => ({ topic, partition, offset: stored.get(topic) })),
    });
    const partitions = [
      { topic: "t", partition: 0 },
      { topic: "u", partition: 0 },
    ];
    await feed(0, 3);
    expect((await handlers.onAssigned(partitions)).map(({ offset }) => offset)).toEqual([3, undefined]);
    await sink.stop();
  });

  it("holds records back while the store is away, without more than two batches, and lets go of lost partitions", async () => {
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const seen: number[] = [];
    const { sink, feed } = await startSink({
      insert: async (tables) => {
        await gate;
        if (tables[0]?.table === "own") seen.push(...offsetsOf(tables));
      },
    });
    let stale = false;
    let returned = false;
    const feeding = feed(0, 1_000, () => stale).then(() => (returned = true));
    await delay(50);
    expect(returned).toBe(false);
    stale = true;
    await feeding;
    open();
    await sink.stop();
    // Two rows a record, twenty rows a batch: one batch under way, one full.
    expect(seen).toEqual(Array.from({ length: 20 }, (_, offset) => offset));
  });

  it("skips what can't be decoded, once it is safe elsewhere, and still tells how far it is", async () => {
    const letters: string[] = [];
    const { sink, feed, inserted, commits } = await startSink({
      decode: async () => ({ ok: false, code: "out_of_bounds", reason: "no value", tenant: "acme" }),
      undecodable: async ({ record: { offset }, tenant = "" }, code) =>
        void letters.push(`${offset} ${code} ${tenant}`),
    });
    await feed(7, 2);
    await sink.stop();
    expect(letters).toEqual(["7 out_of_bounds acme", "8 out_of_bounds acme"]);
    expect(inserted.flatMap(({ offsets }) => offsets)).toEqual([]);
    expect(commits).toEqual([9]);
  });

  it("stores nothing behind a gap: after a bug in insert it takes no more", async () => {
    let calls = 0;
    const { sink, feed } = await startSink({
      insert: async (tables) => {
        if (tables.length > 0 && ++calls > 0) throw new TypeError("a bug");
      },
    });
    await expect(feed(0, 100)).rejects.toThrow("a bug");
    await expect(feed(100, 100)).rejects.toThrow("a bug");
    expect(sink.problem()).toMatch(/a flush failed .*a bug.*start this process again/);
    expect(calls).toBe(1);
    await expect(sink.stop()).rejects.toThrow("a bug");
  });

  it("stops within its time when the store is away", async () => {
    const { sink, feed } = await startSink({
      drainMs: 20,
      insert: (_tables, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("stopped")));
        }),
    });
    await feed(0, 1);
    await sink.stop();
    await feed(1, 1).catch(() => undefined);
  });

  it("stops within its time when a statement hangs", async () => {
    const hangs = vi.fn(() => new Promise<void>(() => undefined));
    const { sink, feed } = await startSink({ drainMs: 20, insert: hangs });
    await feed(0, 5);
    await vi.waitFor(() => expect(hangs).toHaveBeenCalled());
    await sink.stop();
  });

  it("waits longer for more rows where storing takes long, but not longer than four times batchMs", async () => {
    vi.useFakeTimers();
    try {
      let [tookMs, began, offset] = [0, 0, 0];
      const { sink, feed } = await startSink({
        batchMs: 1_000,
        batch: createBatch({ maxRows: 5_000, maxBytes: 1_000_000 }),
        insert: async (tables) => {
          if (tables[0]?.table === "derived") began++;
          await new Promise((resolve) => setTimeout(resolve, tookMs / 2));
        },
      });
      /** Milliseconds from a record to its insert. */
      const waited = async (records = 1): Promise<number> => {
        const [before, from] = [began, Date.now()];
        await feed(offset, records);
        offset += records;
        while (began === before) await vi.advanceTimersByTimeAsync(100);
        const ms = Date.now() - from;
        await vi.advanceTimersByTimeAsync(2 * tookMs + 10);
        return ms;
      };
      expect(await waited()).toBe(1_000);
      tookMs = 50;
      expect(await waited()).toBe(1_000); // measured only now
      expect(await waited()).toBe(1_000);
      tookMs = 300;
      await waited();
      expect(await waited()).toBe(2_700);
      tookMs = 5_000;
      await waited();
      expect(await waited()).toBe(4_000);
      tookMs = 50;
      await waited();
      expect(await waited()).toBe(1_000);
      // With many rows per insert, storing takes at most a thirtieth of the time.
      await waited(500);
      expect(await waited()).toBe(1_500); // 1,450, looked at every 100
      tookMs = 0;
      await sink.stop();
    } finally {
      vi.useRealTimers();
    }
  });
});
