import fc from "fast-check";
import { expect, it } from "vitest";
import { atThreshold, auc, hitsAt, ranked } from "./figures.ts";

const ones = (n: number): Float64Array => new Float64Array(n).fill(1);

it("counts by hand, with ties", () => {
  const same = Uint8Array.of(1, 0, 1, 0);
  expect(auc(ranked([4, 3, 2, 1]), same, ones(4))).toBe(0.75);
  expect(auc(ranked([1, 1, 1, 1]), same, ones(4))).toBe(0.5);
  expect(hitsAt(ranked([4, 3, 2, 1]), same, ones(4), 0)).toBe(0.25);
  expect(hitsAt(ranked([4, 3, 2, 1]), same, ones(4), 0.34)).toBe(0.75);
  // No threshold parts the two.
  expect(hitsAt(ranked([4, 4, 2, 1]), same, ones(4), 0)).toBe(0);
  expect(hitsAt(ranked([4, 3, 2, 1]), same, ones(4), 0.5)).toBe(1);
  expect(atThreshold([4, 3, 2, 1], same, 3)).toEqual({ served: 0.5, wrong: 0.5 });
  expect(atThreshold([4, 3, 2, 1], same, 9)).toEqual({ served: 0, wrong: null });
});

it("counts a weight of two as the pair twice, and is what comparing all pairs says", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          score: fc.integer({ min: 0, max: 4 }),
          same: fc.boolean(),
          weight: fc.integer({ min: 0, max: 2 }),
        }),
        {
          minLength: 2,
          maxLength: 25,
        },
      ),
      (rows) => {
        const label = (all: typeof rows): Uint8Array => Uint8Array.from(all, ({ same }) => Number(same));
        const scores = (all: typeof rows): number[] => all.map(({ score }) => score);
        const repeated = rows.flatMap((row) => Array.from({ length: row.weight }, () => row));
        const weighted = auc(
          ranked(scores(rows)),
          label(rows),
          Float64Array.from(rows, ({ weight }) => weight),
        );
        let [sum, count] = [0, 0];
        for (const one of repeated)
          for (const other of repeated)
            if (one.same && !other.same) {
              sum += one.score > other.score ? 1 : one.score === other.score ? 0.5 : 0;
              count++;
            }
        if (count === 0) expect(weighted).toBeNaN();
        else expect(weighted).toBeCloseTo(sum / count, 9);
        const hits = hitsAt(
          ranked(scores(rows)),
          label(rows),
          Float64Array.from(rows, ({ weight }) => weight),
          0.3,
        );
        if (repeated.length > 0)
          expect(hits).toBeCloseTo(hitsAt(ranked(scores(repeated)), label(repeated), ones(repeated.length), 0.3), 9);
      },
    ),
  );
});
