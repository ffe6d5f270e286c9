import fc from "fast-check";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { createEvict, toLeave, type Rival } from "./evict.ts";

const rival = (id: string, change: Partial<Rival> = {}): Rival => ({
  ...{ id, domain: "t/d", bytes: 300, value: 0.5, young: false },
  ...change,
});
const ids = (rivals: readonly { id: string }[]): string[] => rivals.map(({ id }) => id);

describe("what has to leave", () => {
  it("is nothing while all fit", () => {
    expect(toLeave([rival("a"), rival("b")], 0)).toEqual([]);
  });
  it("is what enabled the fewest offloads for its bytes", () => {
    const rivals = [
      rival("idle"),
      rival("heavy", { value: 1.5, bytes: 900 }),
      rival("some", { value: 1 }),
      rival("busy", { value: 5 }),
    ];
    expect(ids(toLeave(rivals, 1_100))).toEqual(["idle", "heavy"]);
  });
  it("is not what was born just now, unless the newborn alone are too many", () => {
    const crowd = ["a", "b", "c"].map((id) => rival(id, { young: true }));
    expect(ids(toLeave([rival("old", { value: 9, bytes: 800 }), ...crowd], 200))).toEqual(["old"]);
    const [first, ...others] = ids(toLeave([rival("old"), ...crowd], 500));
    expect([first, others.length]).toEqual(["old", 1]);
  });
  it("always gains the bytes that are missing, and never takes more than all", () => {
    const any = fc.record({ bytes: fc.integer({ min: 1, max: 900 }), value: fc.nat(9), young: fc.boolean() });
    const property = fc.property(fc.array(any, { maxLength: 12 }), fc.nat(20_000), (given, excess) => {
      const rivals = given.map((one, i) => rival(String(i), one)).sort((a, b) => Number(a.young) - Number(b.young));
      const bytes = (some: readonly Rival[]): number => some.reduce((sum, one) => sum + one.bytes, 0);
      expect(bytes(toLeave(rivals, excess))).toBeGreaterThanOrEqual(Math.min(excess, bytes(rivals)));
    });
    fc.assert(property);
  });
});

describe("evict", () => {
  const evicting = (answers: (sql: string) => unknown[]) =>
    createEvict({
      clickhouse: { query: async <Row>(sql: string) => answers(sql) as Row[] },
      rules: { budgetBytes: 1_000, graceMs: 3_600_000 },
      costs: () => new Map(),
      clock: () => 1_700_000_000_000,
      log: pino({ level: "silent" }),
    })();
  /** The pool's weight when it was asked for, and what stood there a moment later. */
  const of = (weight: number, rivals: readonly Rival[]) => (sql: string) => {
    if (sql.includes("expires_at <=")) return [];
    if (sql.includes("sum(bytes) AS bytes FROM examples")) return [{ bytes: weight }];
    const pool = rivals.reduce((sum, { bytes }) => sum + bytes, 0);
    return rivals.map((one) => ({ ...one, pool }));
  };
  it("takes the expired first and asks nothing more", async () => {
    const asked: string[] = [];
    const evicted = await evicting((sql) => {
      asked.push(sql);
      return [{ id: "e1", domain: "t/d" }];
    });
    expect(evicted).toEqual([{ id: "e1", domain: "t/d", value: null, reason: "expired" }]);
    expect(asked).toHaveLength(1);
  });
  it("makes a little more room than is missing", async () => {
    const rivals = [rival("a", { value: 0.1 }), rival("b", { value: 0.2 }), rival("c"), rival("d", { bytes: 200 })];
    expect(await evicting(of(1_100, rivals))).toEqual([{ id: "a", domain: "t/d", value: null, reason: "no_room" }]);
  });
  it("makes no room for what has left while it asked", async () => {
    const rivals = ["a", "b", "c"].map((id) => rival(id));
    expect(await evicting(of(1_500, rivals))).toEqual([]);
    const crowded = [...rivals, rival("d", { value: 0.1 })];
    expect(ids(await evicting(of(2_100, crowded)))).toEqual(["d"]);
  });
});
