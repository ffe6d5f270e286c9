import { describe, expect, it } from "vitest";
import { erasedLetter, erasedRequest, erasedTenant } from "../../algorithms/privacy/erasure.ts";
import { createLines } from "../../runtime/lines.ts";
import type { Row, TableLines } from "../../runtime/rows.ts";
import type { Erased } from "../erased.ts";
import { createWithoutErased } from "./without-erased.ts";

const source = { topic: "x", partition: 0, record: { offset: 0, key: null, value: null, headers: {}, timestamp: 0 } };
function of(table: string, ...rows: Record<string, unknown>[]): TableLines {
  const lines = createLines();
  for (const row of rows) lines.add({ created_at: "2026-03-01 12:00:00.000", ...row }, source);
  return { table, lines };
}

async function inserted(erased: Erased, ...tables: TableLines[]): Promise<Record<string, Row[]>> {
  const taken: Record<string, Row[]> = {};
  const insert = createWithoutErased({
    erasedAmong: (hashes) =>
      Promise.resolve(new Map([...hashes].flatMap((hash) => (erased.has(hash) ? [[hash, erased.get(hash)!]] : [])))),
    insert: (given) => {
      for (const { table, lines } of given)
        taken[table] = Array.from({ length: lines.length }, (_, index) => lines.row(index));
      return Promise.resolve();
    },
  });
  await insert(tables, new AbortController().signal);
  return taken;
}

describe("rows of what was erased", () => {
  it("are left out in every table that names the request, of its tenant alone", async () => {
    const erased = new Map([[erasedRequest("t", "r"), Infinity]]);
    const mine = { tenant: "t", request_id: "r" };
    const others = [
      { tenant: "u", request_id: "r" },
      { tenant: "t", request_id: "r2" },
    ];
    const rows = await inserted(
      erased,
      of("feedback", mine, ...others),
      of("examples", { tenant: "t", source_request_id: "r" }, { tenant: "t", source_request_id: null }),
      of("policies", mine),
    );
    expect(rows.feedback).toMatchObject(others);
    expect(rows.examples).toMatchObject([{ source_request_id: null }]);
    expect(rows.policies).toHaveLength(1);
  });

  it("of a tenant are those from before its erasure", async () => {
    const erased = new Map([[erasedTenant("t"), Date.UTC(2026, 2, 1, 12, 30)]]);
    const later = { tenant: "t", request_id: "b", created_at: "2026-03-01 12:30:00.000" };
    expect((await inserted(erased, of("requests", { tenant: "t", request_id: "a" }, later))).requests).toMatchObject([
      later,
    ]);
  });

  it("of dead letters are known by where their record stood, or by its key", async () => {
    const letter = { tenant: "t", source_topic: "requests", source_partition: 1, source_offset: 7, key_base64: null };
    const keyed = { ...letter, source_offset: 8, key_base64: Buffer.from("r").toString("base64") };
    const other = { ...letter, source_offset: 9 };
    const erased = new Map([
      [erasedLetter({ topic: "requests", partition: 1, offset: 7 }), Infinity],
      [erasedRequest("t", "r"), Infinity],
    ]);
    expect((await inserted(erased, of("dead_letters", letter, keyed, other))).dead_letters).toMatchObject([other]);
  });

  it("leave tombstones of examples in place: they hold nothing", async () => {
    const erased = new Map([[erasedTenant("t"), Infinity]]);
    expect(
      (await inserted(erased, of("examples", { tenant: "t", source_request_id: null, deleted: true }))).examples,
    ).toHaveLength(1);
  });
});
