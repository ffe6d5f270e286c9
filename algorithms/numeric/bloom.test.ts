import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bloomHash, createBloom, mayContain } from "./bloom.ts";

const named = (count: number, prefix: string): Set<string> =>
  new Set(Array.from({ length: count }, (_, i) => `${prefix}${i}`));
const falsePositives = (filter: ReturnType<typeof createBloom>, tries: number): number =>
  [...named(tries, "foreign ")].filter((name) => mayContain(filter, bloomHash(name))).length / tries;

describe("Bloom filter", () => {
  it("knows every name that was put into it, however small it must be", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.string(), { maxLength: 200 }),
        fc.double({ min: 0.0001, max: 0.9, noNaN: true }),
        fc.integer({ min: 1, max: 4_096 }),
        (names, rate, mostBytes) => {
          const filter = createBloom(new Set(names), { falsePositives: rate, mostBytes });
          expect(filter.bits.length).toBeLessThanOrEqual(mostBytes);
          expect(names.filter((name) => !mayContain(filter, bloomHash(name)))).toEqual([]);
        },
      ),
    );
  });

  it.each([
    [10, 0.05],
    [1_000, 0.01],
    [20_000, 0.01],
    [5_000, 0.001],
  ])("of %d names says yes to about the share %d of foreign ones", (count, rate) => {
    const filter = createBloom(named(count, "own "), { falsePositives: rate });
    const tries = 30_000;
    const found = falsePositives(filter, tries);
    // Whole bytes and whole hash functions make it a little less or more; beside that chance of the
    // tries.
    expect(found).toBeLessThan(1.3 * rate + 4 * Math.sqrt(rate / tries));
    // A handful of names has bits to spare.
    if (count >= 1_000) expect(found).toBeGreaterThan(0.6 * rate - 4 * Math.sqrt(rate / tries));
  });

  it("says yes more often where it has no room, as its size says", () => {
    const filter = createBloom(named(10_000, "own "), { falsePositives: 0.01, mostBytes: 5_000 });
    expect(filter.bits.length).toBe(5_000);
    // Four bits a name: (1 - e^(-k n / m))^k at k = 3.
    const expected = (1 - Math.exp((-filter.hashes * 10_000) / 40_000)) ** filter.hashes;
    expect(Math.abs(falsePositives(filter, 20_000) - expected)).toBeLessThan(0.02);
  });

  it("holds nothing when it is empty, and refuses what is no rate and no size", () => {
    const empty = createBloom(new Set());
    expect(empty).toEqual({ bits: new Uint8Array(0), hashes: 0 });
    expect(mayContain(empty, bloomHash("anything"))).toBe(false);
    for (const rate of [0, 1, Number.NaN])
      expect(() => createBloom(new Set(["a"]), { falsePositives: rate })).toThrow(RangeError);
    expect(() => createBloom(new Set(["a"]), { mostBytes: 0 })).toThrow(RangeError);
  });
});
