import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type CandidateFacts,
  createHelpfulnessFeatures,
  HELPFULNESS_FEATURE_NAMES,
  HELPFULNESS_FEATURES,
  type RequestFacts,
} from "./helpfulness-features.ts";

const dimension = 6;
const rowsOf = createHelpfulnessFeatures();
const features = (...given: Parameters<typeof rowsOf>): Float32Array => rowsOf(...given).all();
const anyNumber = fc.oneof(fc.double(), fc.constantFrom(NaN, Infinity, -Infinity, 0, 1e300));
const vector = fc
  .array(fc.float({ noNaN: true, min: -1, max: 1 }), { minLength: dimension, maxLength: dimension })
  .map((values) => Float32Array.from(values));
const request = fc.record({ text: fc.string(), vector });
const wild: fc.Arbitrary<CandidateFacts> = fc.record({
  request: fc.string(),
  response: fc.string(),
  vector: fc.oneof(vector, fc.constant(new Float32Array()), fc.constant(new Float32Array(dimension).fill(NaN))),
  similarity: anyNumber,
  quality: anyNumber,
  sourceCost: fc.option(anyNumber),
  uses: anyNumber,
  outcome: fc.option(anyNumber),
});
const unit = fc.double({ min: 0, max: 1, noNaN: true });
const tame: fc.Arbitrary<CandidateFacts> = fc.record({
  request: fc.string(),
  response: fc.string(),
  vector,
  similarity: unit,
  quality: unit,
  sourceCost: fc.option(unit),
  uses: fc.nat(),
  outcome: fc.option(unit),
});
const plain: CandidateFacts = {
  request: "list all files below /tmp",
  response: "find /tmp -type f",
  vector: Float32Array.of(1, 0, 0, 0, 0, 0),
  similarity: 0.8,
  quality: 0.9,
  sourceCost: null,
  uses: 0,
  outcome: null,
};
const rowOf = (rows: Float32Array, i: number): Record<string, number> =>
  Object.fromEntries(HELPFULNESS_FEATURE_NAMES.map((name, k) => [name, rows[i * HELPFULNESS_FEATURES + k]!]));

describe("helpfulness features", () => {
  it("are finite and in [-1, 1] for anything", () => {
    fc.assert(
      fc.property(
        request,
        fc.array(wild, { maxLength: 6 }),
        fc.array(anyNumber, { maxLength: 3 }),
        (asked, found, costs) => {
          const rows = features(
            asked,
            found,
            costs.map((cost) => ({ cost })),
          );
          expect(rows.length).toBe(costs.length * found.length * HELPFULNESS_FEATURES);
          expect(rows.every((value) => value >= -1 && value <= 1)).toBe(true);
        },
      ),
    );
  });

  const reversed = (asked: RequestFacts, found: readonly CandidateFacts[]): void => {
    const forwards = features(asked, found, [{ cost: 0.5 }]);
    const backwards = features(asked, found.toReversed(), [{ cost: 0.5 }]);
    for (let i = 0; i < found.length; i++)
      for (let k = 0; k < HELPFULNESS_FEATURES; k++)
        expect(forwards[i * HELPFULNESS_FEATURES + k]).toBeCloseTo(
          backwards[(found.length - 1 - i) * HELPFULNESS_FEATURES + k]!,
          6,
        );
  };

  it("move with the candidates, whatever their order", () => {
    fc.assert(fc.property(request, fc.array(tame, { minLength: 1, maxLength: 6 }), reversed));
  });

  it("do so where their vectors cancel, all but rounding", () => {
    const cancelling = fc
      .tuple(fc.array(tame, { minLength: 1, maxLength: 3 }), fc.array(fc.float({ noNaN: true, min: -1, max: 1 })))
      .chain(([found, rest]) => {
        const opposite = found.map((one, i) => ({
          ...one,
          vector: one.vector.map((value, j) => -value * (1 + 1e-7 * (rest[i * dimension + j] ?? 0))),
        }));
        return fc.shuffledSubarray([...found, ...opposite], { minLength: 2 * found.length });
      });
    fc.assert(fc.property(request, cancelling, reversed));
    const one = { ...plain, vector: Float32Array.of(0, 0, -0.9999986886978149, 0, 0, 0) };
    const other = { ...plain, vector: Float32Array.of(0, 5.295020244489024e-8, 0.9999975562095642, 0, 0, 0) };
    const little = { ...plain, vector: Float32Array.of(0, 0, 8.103672399784045e-8, 0, 0, 0) };
    reversed({ text: "", vector: plain.vector }, [one, other, little]);
  });

  it("have no centroid where rounding is all that is left of it", () => {
    const opposite = { ...plain, vector: Float32Array.of(-(1 - 2 ** -24), 0, 0, 0, 0, 0) };
    const rows = features({ text: "", vector: plain.vector }, [plain, opposite], [{ cost: 0 }]);
    for (const i of [0, 1]) expect(Math.abs(rowOf(rows, i)["centroidSimilarity"]!)).toBeLessThan(0.01);
  });

  it("differ between arms only in the arm's own number", () => {
    const asked = { text: "list files", vector: plain.vector };
    const found = [plain, { ...plain, response: "ls" }];
    const rows = features(asked, found, [{ cost: 0.1 }, { cost: 1 }]);
    for (const i of [0, 1]) {
      const { armCost: small, ...one } = rowOf(rows, i);
      const { armCost: large, ...other } = rowOf(rows, 2 + i);
      expect(one).toEqual(other);
      expect([small, large]).toEqual([Math.fround(0.1), 1]);
    }
  });

  it("are the same one by one, in any order, between those of other requests", () => {
    const costs = fc.array(anyNumber, { minLength: 1, maxLength: 3 });
    const asking = fc.tuple(request, fc.array(wild, { maxLength: 6 }), costs);
    fc.assert(
      fc.property(asking, asking, fc.infiniteStream(fc.nat()), ([asked, found, costs], [other, others], order) => {
        const arms = costs.map((cost) => ({ cost }));
        const rows = rowsOf(asked, found, arms);
        const all = features(asked, found, arms);
        const places = arms.flatMap((_, a) => found.map((_, i) => ({ a, i, at: order.next().value as number })));
        for (const { a, i } of places.sort((one, two) => one.at - two.at)) {
          features(other, others, [{ cost: 1 }]);
          const from = (a * found.length + i) * HELPFULNESS_FEATURES;
          expect(rows.one(a, i)).toEqual([...all.subarray(from, from + HELPFULNESS_FEATURES)]);
        }
        expect(rows.all()).toEqual(all);
      }),
    );
  });

  it("say what is known of the example and what it shares with the question", () => {
    const asked = { text: "count all files below /tmp", vector: plain.vector };
    const used = { ...plain, response: "ls /srv", similarity: 0.6, sourceCost: 0.25, uses: 3, outcome: 0.5 };
    const rows = features(asked, [plain, used], [{ cost: 0 }]);
    expect(rowOf(rows, 0)).toMatchObject({
      similarityToBest: 0,
      moreSimilar: 0,
      centroidSimilarity: 1,
      literalsInRequest: 1,
      literalsInResponse: 1,
      sourceKnown: 0,
      outcomeKnown: 0,
      uses: 0,
    });
    expect(rowOf(rows, 1)).toMatchObject({ moreSimilar: 0.5, literalsInResponse: 0, sourceKnown: 1, sourceCost: 0.25 });
    expect(rowOf(rows, 1)).toMatchObject({ outcomeKnown: 1, outcome: 0.5 });
    expect(rowOf(rows, 1)["uses"]).toBeGreaterThan(0);
  });
});
