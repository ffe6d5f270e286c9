import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createEvict, toLeave, type Valued } from "./evict.ts";

const hour = 3_600_000;
const NOW = 1_700_000_000_000;
const rules = { budgetBytes: 1_000, graceMs: hour };
const example = (id: string, change: Partial<Valued> = {}): Valued => ({
  id,
  domain: "t/d",
  bytes: 300,
  createdAt: NOW - 48 * hour,
  quality: 0.5,
  credit: 0,
  ...change,
});
const ids = (examples: readonly { id: string }[]): string[] => examples.map(({ id }) => id);

describe("what has to leave", () => {
  it("is nothing while all fit", () => {
    expect(toLeave([example("a"), example("b")], rules, NOW)).toEqual([]);
  });
  it("is what enabled the fewest offloads for its bytes", () => {
    const examples = [
      example("idle"),
      example("busy", { credit: 5 }),
      example("some", { credit: 1 }),
      example("heavy", { credit: 1.5, bytes: 900 }),
    ];
    expect(ids(toLeave(examples, { ...rules, budgetBytes: 700 }, NOW))).toEqual(["idle", "heavy"]);
  });
  it("is not what was born just now, unless the newborn alone are too many", () => {
    const young = { createdAt: NOW - hour / 2 };
    expect(ids(toLeave([example("old", { credit: 9, bytes: 800 }), example("new", young)], rules, NOW))).toEqual([
      "old",
    ]);
    const crowd = ["a", "b", "c", "d", "e"].map((id) => example(id, young));
    expect(toLeave(crowd, rules, NOW)).toHaveLength(2);
  });
  it("always leaves no more than the budget", () => {
    const any = fc.record({ bytes: fc.integer({ min: 1, max: 900 }), age: fc.nat(72), credit: fc.nat(9) });
    fc.assert(
      fc.property(fc.array(any, { maxLength: 30 }), (given) => {
        const examples = given.map(({ bytes, age, credit }, i) =>
          example(String(i), { bytes, credit, createdAt: NOW - age * hour }),
        );
        const gone = new Set(ids(toLeave(examples, rules, NOW)));
        const left = examples.filter(({ id }) => !gone.has(id)).reduce((sum, { bytes }) => sum + bytes, 0);
        expect(left).toBeLessThanOrEqual(rules.budgetBytes);
      }),
    );
  });
});

describe("evict", () => {
  it("takes the expired first and asks nothing more", async () => {
    const asked: string[] = [];
    const evict = createEvict({
      clickhouse: {
        query: async <Row>(sql: string) => {
          asked.push(sql);
          return [{ id: "e1", domain: "t/d" }] as Row[];
        },
      },
      rules: { ...rules, offloadQuality: 0.6 },
      costs: () => new Map(),
      clock: () => NOW,
    });
    expect(await evict()).toEqual([{ id: "e1", domain: "t/d", value: null, reason: "expired" }]);
    expect(asked).toHaveLength(1);
  });
});
