import { describe, expect, it } from "vitest";
import type { Source } from "../../runtime/rows.ts";
import { createRefused, WRAPS_LETTER } from "./refused.ts";

const from = (topic: string, offset: number, headers: Record<string, Buffer> = {}): Source => ({
  topic,
  partition: 0,
  record: { offset, key: null, value: Buffer.from("bytes"), headers, timestamp: 0 },
});

function start(failures = 0) {
  const letters: { topic: string; offset: number; headers: Record<string, string> }[] = [];
  const reported: boolean[] = [];
  const refused = createRefused({
    letters: "p.dead-letters",
    deadLetter: async ({ topic, record }, _code, _reason, headers) => {
      if (failures-- > 0) throw new Error("no broker");
      letters.push({ topic, offset: record.offset, headers });
    },
    onRefused: (_source, _code, _reason, kept) => reported.push(kept),
  });
  return { refused, letters, reported };
}

describe("a record whose row is refused", () => {
  it("is kept whole, a request as well, and once however many of its rows are refused", async () => {
    const { refused, letters, reported } = start();
    for (let row = 0; row < 3; row++) await refused(from("p.requests", 7), "clickhouse_469", "constraint");
    await refused(from("p.decisions", 7), "clickhouse_469", "constraint");
    expect(letters).toEqual([
      { topic: "p.requests", offset: 7, headers: {} },
      { topic: "p.decisions", offset: 7, headers: {} },
    ]);
    expect(reported).toEqual([true, true]);
  });

  it("a dead letter is wrapped once and no more", async () => {
    const { refused, letters, reported } = start();
    await refused(from("p.dead-letters", 1), "clickhouse_469", "constraint");
    await refused(from("p.dead-letters", 2, { [WRAPS_LETTER]: Buffer.from("1") }), "clickhouse_469", "constraint");
    expect(letters).toEqual([{ topic: "p.dead-letters", offset: 1, headers: { [WRAPS_LETTER]: "1" } }]);
    expect(reported).toEqual([true, false]);
  });

  it("that could not be sent counts as not sent", async () => {
    const { refused, letters } = start(1);
    await expect(refused(from("p.requests", 7), "x", "y")).rejects.toThrow("no broker");
    await refused(from("p.requests", 7), "x", "y");
    expect(letters).toHaveLength(1);
  });
});
