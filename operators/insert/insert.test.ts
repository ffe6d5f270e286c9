import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ClickHouseRejected, ClickHouseUnavailable } from "../../connections/clickhouse/port.ts";
import type { JsonLines } from "../../connections/clickhouse/port.ts";
import { createLines } from "../../runtime/lines.ts";
import type { Lines } from "../../runtime/rows.ts";
import { createInsert } from "./insert.ts";

interface TestRow {
  id: number;
}
function linesOf(rows: readonly { id: number; month?: string }[]): Lines {
  const lines = createLines();
  for (const { id, month } of rows)
    lines.add(
      { id, tenant: "acme", created_at: `${month ?? "2026-03"}-01 00:00:00.000` },
      { topic: "t", partition: 0, record: { offset: id, key: null, value: null, headers: {}, timestamp: 0 } },
    );
  return lines;
}
const never = new AbortController().signal;
function idsOf({ count, bytes }: JsonLines): number[] {
  const rows = Buffer.concat(bytes).toString().trimEnd().split("\n");
  expect(rows).toHaveLength(count);
  return rows.map((row) => (JSON.parse(row) as TestRow).id);
}

describe("insert", () => {
  it("gives up exactly the poisonous rows and keeps the order of the others", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 40 }), async (poisonous) => {
        const stored: number[] = [];
        const given: number[] = [];
        const insert = createInsert({
          clickhouse: {
            insertLines: async (_table, rows) => {
              if (idsOf(rows).some((id) => poisonous[id])) throw new ClickHouseRejected("bad value", "27");
              stored.push(...idsOf(rows));
            },
          },
          deadLetter: async ({ record, tenant }, code) => {
            expect([code, tenant]).toEqual(["clickhouse_27", "acme"]);
            given.push(record.offset);
          },
        });
        await insert([{ table: "x", lines: linesOf(poisonous.map((_, id) => ({ id }))) }], never);
        expect(stored).toEqual(poisonous.flatMap((bad, id) => (bad ? [] : [id])));
        expect(given).toEqual(poisonous.flatMap((bad, id) => (bad ? [id] : [])));
      }),
    );
  });

  it("waits while ClickHouse is away, its table is missing, or dead-letters can't be reached", async () => {
    const failures = [
      new ClickHouseUnavailable("away"),
      new ClickHouseRejected("no table", "60"),
      new ClickHouseRejected("wrong password", "516"),
      new ClickHouseRejected("bad value", "27"),
    ];
    let letters = 0;
    let waits = 0;
    const insert = createInsert({
      clickhouse: {
        insertLines: async () => {
          const failure = failures.shift();
          if (failure) throw failure;
        },
      },
      deadLetter: async () => {
        if (++letters < 3) throw new Error("no broker");
      },
      onWaiting: () => waits++,
      backoffMs: 1,
    });
    await insert([{ table: "x", lines: linesOf([{ id: 1 }]) }], never);
    expect({ failures, letters, waits }).toEqual({ failures: [], letters: 3, waits: 5 });
  });

  it("never puts two months into one INSERT, and stays in order", async () => {
    const calls: number[][] = [];
    const insert = createInsert({
      clickhouse: {
        insertLines: async (_table, rows) => {
          await delay(1);
          calls.push(idsOf(rows));
        },
      },
      deadLetter: async () => {},
    });
    const months = ["2026-03", "2026-03", "2026-04", "2026-03"];
    await insert([{ table: "x", lines: linesOf(months.map((month, id) => ({ id, month }))) }], never);
    expect(calls).toEqual([[0, 1], [2], [3]]);
  });

  it("ends a wait when its signal is aborted", async () => {
    const stop = new AbortController();
    const insert = createInsert({
      clickhouse: { insertLines: () => Promise.reject(new ClickHouseUnavailable("away")) },
      deadLetter: async () => {},
      backoffMs: 10_000,
    });
    const inserting = insert([{ table: "x", lines: linesOf([{ id: 1 }]) }], stop.signal);
    stop.abort();
    await expect(inserting).rejects.toThrow();
  });
});
