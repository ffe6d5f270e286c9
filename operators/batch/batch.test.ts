import { describe, expect, it } from "vitest";
import type { Source, TableLines, TableRows, Taken } from "../../runtime/rows.ts";
import { createBatch } from "./batch.ts";

const source = (offset: number, bytes = 0): Source => ({
  topic: "t",
  partition: 0,
  record: { offset, key: null, value: Buffer.alloc(bytes), headers: {}, timestamp: 0 },
});
const rows = (table: string, count: number): TableRows => ({
  table,
  rows: Array.from({ length: count }, () => ({ created_at: "2026-01-01 00:00:00.000" })),
});

describe("batch", () => {
  it("is full by rows or by bytes", () => {
    const byRows = createBatch({ maxRows: 3, maxBytes: 1_000_000 });
    byRows.add(source(0), [rows("derived", 1), rows("own", 1)]);
    expect([byRows.rows(), byRows.isFull()]).toEqual([2, false]);
    byRows.add(source(1), [rows("derived", 0), rows("own", 1)]);
    expect(byRows.isFull()).toBe(true);
    const byBytes = createBatch({ maxRows: 1_000, maxBytes: 10_000 });
    byBytes.add(source(0, 10_000), [rows("own", 1)]);
    expect(byBytes.isFull()).toBe(true);
    const byText = createBatch({ maxRows: 1_000, maxBytes: 10_000 });
    byText.add(source(0), [rows("derived", 300), rows("own", 1)]);
    expect(byText.isFull()).toBe(true);
  });

  it("gives all back once, a topic's own table after the derived ones, with the next position of every partition", () => {
    const batch = createBatch({ maxRows: 100, maxBytes: 1_000_000 });
    batch.add(source(4), [rows("derived", 2), rows("own", 1)]);
    batch.add(source(5), [rows("derived", 0), rows("own", 1)]);
    batch.skip(source(6));
    const { before, last, positions } = batch.take();
    expect(before.map(({ table, lines }) => [table, lines.length])).toEqual([["derived", 2]]);
    expect(last.map(({ table, lines }) => [table, lines.length])).toEqual([["own", 2]]);
    expect(positions).toEqual([{ topic: "t", partition: 0, offset: 7 }]);
    expect([batch.isEmpty(), batch.rows(), batch.isFull()]).toEqual([true, 0, false]);
    expect(batch.take()).toMatchObject({ before: [], last: [], positions: [] });
  });

  it("leaves what was taken as it is until it is stored, whatever comes meanwhile", () => {
    const batch = createBatch({ maxRows: 100_000, maxBytes: 100_000_000 });
    const long = "x".repeat(1_000);
    const text = ({ lines }: TableLines): string => Buffer.concat(lines.bytesOf(0, lines.length)).toString();
    const given = (name: string): string => `${JSON.stringify({ created_at: "2026-01", name, long })}\n`.repeat(2_000);
    const fill = (name: string): Taken => {
      const added = Array.from({ length: 1_000 }, () => ({ created_at: "2026-01", name, long }));
      for (const offset of [0, 1]) batch.add(source(offset), [{ table: "own", rows: added }]);
      return batch.take();
    };
    const first = fill("first");
    const second = fill("second");
    expect(text(first.last[0]!)).toBe(given("first"));
    first.done();
    const third = fill("third");
    expect([second, third].map(({ last: [own] }) => text(own!))).toEqual([given("second"), given("third")]);
  });

  it("holds the position of a record that has no row", () => {
    const batch = createBatch({ maxRows: 100, maxBytes: 1_000_000 });
    batch.skip(source(0));
    expect([batch.isEmpty(), batch.rows()]).toEqual([false, 0]);
  });
});
