import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reuseFeatures, REUSE_FEATURE_NAMES } from "./reuse-features.ts";
import { reuseQuality } from "./reuse-quality.ts";
import { reuseScore } from "./reuse-trees.ts";

describe("features of a pair", () => {
  it("are finite, bounded and the same in both orders, whatever the texts", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 200 }),
        fc.string({ unit: "grapheme", maxLength: 200 }),
        fc.double(),
        (one, other, cosine) => {
          const row = reuseFeatures(one, other, cosine);
          expect(row).toHaveLength(REUSE_FEATURE_NAMES.length);
          for (const value of row) expect(Math.abs(value)).toBeLessThanOrEqual(1);
          expect(reuseFeatures(other, one, cosine)).toEqual(row);
        },
      ),
    );
  });

  const of = (name: (typeof REUSE_FEATURE_NAMES)[number], one: string, other: string): number =>
    reuseFeatures(one, other, 0.9)[REUSE_FEATURE_NAMES.indexOf(name)]!;
  it("see numbers, names, negation and direction", () => {
    expect(of("numbersDiffer", "who won in 1992?", "who won in 2002?")).toBe(1);
    expect(of("numbersDiffer", "who won in 1992?", "in 1992, who won?")).toBe(0);
    expect(of("namesDiffer", "is it far to Rome?", "is it far to Oslo?")).toBe(1);
    expect(of("negationDiffers", "what should I do?", "what should I not do?")).toBe(1);
    expect(of("comparisonDiffers", "the best of them", "the worst of them")).toBe(1);
    expect(of("sameStems", "listing the files", "list a file")).toBe(1);
  });

  it("take no longer than the head of a text", () => {
    const long = "a1 ".repeat(400_000);
    expect(reuseFeatures(long, `${long}b`, 1)).toEqual(reuseFeatures(long.slice(0, 4_096), long.slice(0, 4_096), 1));
  });
});

describe("the predicted quality", () => {
  it("walks the trees as they are written", () => {
    const model = { base: 0.5, trees: [{ splits: [0, 0.3, -1, 1, 1, 0.6, -2, -3], leaves: [-1, 2, 4] }] };
    const odds = (row: number[]): number => Math.log(reuseScore(row, model) / (1 - reuseScore(row, model)));
    expect(odds([0.3, 0])).toBeCloseTo(-0.5, 9);
    expect(odds([0.4, 0.6])).toBeCloseTo(2.5, 9);
    expect(odds([0.4, 0.7])).toBeCloseTo(4.5, 9);
    expect(reuseScore([], { base: 0, trees: [{ splits: [], leaves: [0] }] })).toBe(0.5);
  });

  it("tells the same question from a similar one where cosine does not", () => {
    const same = reuseQuality(
      "How do I list all files in a folder?",
      "How can I list all the files in a folder?",
      0.95,
    );
    const other = reuseQuality("What happened in the year 2002?", "What happened in the year 1992?", 0.95);
    expect(same).toBeGreaterThan(0.8);
    expect(other).toBeLessThan(0.6);
    expect(reuseQuality("print x if x > 3", "print x if x < 3", 1)).toBeLessThanOrEqual(0.5);
    expect(reuseQuality("print x if x > 3", " print x if x > 3\n", 1)).toBeGreaterThan(0.9);
  });
});
