import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createChunks } from "./chunks.ts";
import { createLines } from "./lines.ts";
import type { Row, Source } from "./rows.ts";

const source = (offset: number): Source => ({
  topic: "t",
  partition: 0,
  record: { offset, key: null, value: null, headers: {}, timestamp: 0 },
});
const row = (text: string, created_at = "2026-03-01 00:00:00.000"): Row => ({ text, created_at });
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe("lines", () => {
  it("give rows back as text and one by one, wherever chunks end", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.nat(200_000).map((length) => "é".repeat(length)),
      fc.nat(300_000).map((length) => "x".repeat(length)),
    );
    fc.assert(
      fc.property(fc.array(text, { maxLength: 12 }), fc.nat(12), fc.nat(12), (texts, one, other) => {
        const lines = createLines();
        texts.forEach((each, index) => lines.add(row(each), source(index)));
        const [from, to] = [one, other].map((index) => Math.min(index, texts.length)).sort((a, b) => a - b);
        const some = Buffer.concat(lines.bytesOf(from!, to!)).toString();
        expect(some).toBe(
          texts
            .slice(from, to)
            .map((each) => `${JSON.stringify(row(each))}\n`)
            .join(""),
        );
        expect(numbers(lines.length).map((index) => lines.row(index).text)).toEqual(texts);
        expect(numbers(lines.length).map((index) => lines.source(index).record.offset)).toEqual(numbers(texts.length));
        expect(lines.bytes()).toBe(Buffer.concat(lines.bytesOf(0, lines.length)).length);
      }),
      { numRuns: 30 },
    );
  });

  it("say where the month changes", () => {
    const lines = createLines();
    expect(lines.months).toEqual([]);
    for (const month of ["2026-03", "2026-03", "2026-04", "2026-03"]) lines.add(row("", `${month}-01`), source(0));
    expect(lines.months).toEqual([0, 2, 3]);
  });
});

describe("chunks", () => {
  it("are used again once they are given back, and as many kept as the last batch took", () => {
    const chunks = createChunks();
    const first = numbers(3).map(() => chunks.take(1));
    const { giveBack } = chunks.handOver();
    const other = chunks.take(1);
    expect(first).not.toContain(other);
    giveBack();
    const again = numbers(3).map(() => chunks.take(1));
    expect(new Set(again)).toEqual(new Set(first));
    chunks.handOver().giveBack();
    chunks.take(1);
    chunks.handOver().giveBack();
    const kept = chunks.take(1);
    expect([...first, other]).toContain(kept);
    expect([...first, other]).not.toContain(chunks.take(1));
  });

  it("are made for what is larger than they are, and not kept", () => {
    const chunks = createChunks();
    const large = chunks.take(1_000_000);
    expect(large).toHaveLength(1_000_000);
    chunks.handOver().giveBack();
    expect(chunks.take(1_000_000)).not.toBe(large);
  });
});
