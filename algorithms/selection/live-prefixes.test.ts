import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LivePrefixes, type PrefixCandidate } from "./live-prefixes.ts";

const candidates = (values: Record<string, number>): PrefixCandidate[] =>
  Object.entries(values).map(([id, helpfulness]) => ({ id, helpfulness }));
const all = candidates({ a: 0.9, b: 0.8, c: 0.7, d: 0.6, e: 0.5 });

describe("the longest live sequence", () => {
  it("is of the candidates alone, and lives so long since its last use", () => {
    const live = new LivePrefixes(10, 100);
    live.note(["d", "x", "a"], 0);
    live.note(["b", "a", "c", "y"], 5);
    expect(live.longest(all, 5, Infinity, 15)).toEqual(["b", "a", "c"]);
    expect(live.longest(all, 2, Infinity, 15)).toEqual(["b", "a"]);
    expect(live.longest(all, 5, Infinity, 16)).toEqual([]);
    live.note(["b", "z"], 16);
    expect(live.longest(all, 5, Infinity, 20)).toEqual(["b"]);
  });

  it("loses at most what it may, of two as long ones the least", () => {
    const live = new LivePrefixes(10, 100);
    live.note(["d", "e"], 0);
    live.note(["a", "c"], 0);
    live.note(["a", "e"], 0);
    // Sums of pairs: a and b have 1.7, a and c 1.6, a and e 1.4, d and e 1.1.
    expect(live.longest(all, 2, 0.11, 0)).toEqual(["a", "c"]);
    expect(live.longest(all, 2, 0.05, 0)).toEqual(["a"]);
    expect(live.longest(candidates({ b: 0.8, c: 0.7, d: 0.6, e: 0.5 }), 2, 0.3, 0)).toEqual(["d"]);
    expect(live.longest(candidates({ b: 0.8, c: 0.7, d: 0.6, e: 0.5 }), 2, 0.4, 0)).toEqual(["d", "e"]);
  });

  it("takes bounded time, whatever was noted", () => {
    const live = new LivePrefixes(10, 50_000);
    const many = Array.from({ length: 9 }, (_, i) => `${i}`);
    const permute = (left: readonly string[], path: readonly string[]): void => {
      if (path.length === 5) return live.note(path, 0);
      for (const id of left)
        permute(
          left.filter((other) => other !== id),
          [...path, id],
        );
    };
    permute(many, []);
    const found = live.longest(
      many.map((id) => ({ id, helpfulness: 0.5 })),
      5,
      Infinity,
      0,
    );
    expect(found).toHaveLength(5);
  });
});

it("keeps what was used last when there are too many nodes, and nothing of ids that repeat for ever", () => {
  const live = new LivePrefixes(1_000, 50);
  for (let i = 0; i < 1_000; i++) {
    live.note([`x${i}`, "a", "b"], i);
    expect(live.nodes).toBeLessThanOrEqual(50);
  }
  expect(live.longest(candidates({ x999: 1, a: 1, b: 1 }), 3, 0, 999)).toEqual(["x999", "a", "b"]);
  expect(live.longest(candidates({ x1: 1, a: 1, b: 1 }), 3, 0, 999)).toEqual([]);
  // All used at the same time.
  for (let i = 0; i < 200; i++) live.note([`y${i}`], 2_000);
  expect(live.nodes).toBeLessThanOrEqual(50);
});

it("is a sequence that was noted, within its loss, whatever comes", () => {
  const id = fc.constantFrom("a", "b", "c", "d", "e", "f");
  const sequence = fc.uniqueArray(id, { minLength: 1, maxLength: 5 });
  const one = fc.record({ id, helpfulness: fc.double({ min: 0, max: 1, noNaN: true }) });
  fc.assert(
    fc.property(
      fc.array(sequence, { maxLength: 20 }),
      fc.uniqueArray(one, { selector: (given) => given.id, maxLength: 6 }),
      fc.integer({ min: 0, max: 5 }),
      fc.double({ min: 0, max: 2, noNaN: true }),
      (noted, given, count, loss) => {
        const live = new LivePrefixes(100, 1_000);
        noted.forEach((ids, i) => live.note(ids, i));
        const found = live.longest(given, count, loss, 20);
        expect(found.length).toBeLessThanOrEqual(count);
        expect(found.length === 0 || noted.some((ids) => found.every((its, i) => ids[i] === its))).toBe(true);
        const valueOf = (ids: readonly string[]) =>
          ids.reduce((sum, its) => sum + (given.find((other) => other.id === its)?.helpfulness ?? NaN), 0);
        const ranked = [...given].sort((a, b) => b.helpfulness - a.helpfulness).map((other) => other.id);
        const filled = [...found, ...ranked.filter((its) => !found.includes(its))].slice(0, count);
        expect(valueOf(filled)).toBeGreaterThanOrEqual(valueOf(ranked.slice(0, count)) - loss - 1e-6);
      },
    ),
  );
});
