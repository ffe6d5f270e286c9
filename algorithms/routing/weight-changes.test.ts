import { describe, expect, it } from "vitest";
import { packedIndex, packedLength } from "../numeric/matrix.ts";
import { FEATURE_COUNT, FEATURE_NAMES } from "./features.ts";
import { weightChanges } from "./weight-changes.ts";

const posterior = (weights: Record<string, number>, precision = 4) => {
  const factor = new Float64Array(packedLength(FEATURE_COUNT));
  for (let i = 0; i < FEATURE_COUNT; i++) factor[packedIndex(i, i)] = Math.sqrt(precision);
  return { mean: Float64Array.from(FEATURE_NAMES, (name) => weights[name] ?? 0), factor };
};

describe("changes of weights", () => {
  it("are those of named features, the largest first, with their deviation", () => {
    const before = new Map([["large", posterior({ constant: 0.5, numbers: 0.01, embedding0: 0 })]]);
    const now = new Map([["large", posterior({ constant: 0.52, numbers: -0.05, embedding0: 0.9 }, 100)]]);
    expect(weightChanges(before, now, 9)).toEqual([
      { arm: "large", feature: "numbers", before: 0.01, now: -0.05, deviation: expect.closeTo(0.1, 12) as number },
      { arm: "large", feature: "constant", before: 0.5, now: 0.52, deviation: expect.closeTo(0.1, 12) as number },
    ]);
    expect(weightChanges(before, now, 1).map(({ feature }) => feature)).toEqual(["numbers"]);
  });

  it("are none where nothing changed, or where an arm is new", () => {
    const same = new Map([["large", posterior({ numbers: 0.3 })]]);
    expect(weightChanges(same, same, 9)).toEqual([]);
    expect(weightChanges(new Map(), same, 9)).toEqual([]);
    expect(weightChanges(same, new Map(), 9)).toEqual([]);
  });

  it("follow correlations of the weights: the deviation is the covariance's", () => {
    const one = posterior({ constant: 1 }, 1);
    // Precision of the first two weights [[1, 1], [1, 2]]; its inverse has 2 and 1 on the diagonal.
    one.factor[packedIndex(1, 0)] = 1;
    const [change] = weightChanges(new Map([["a", posterior({})]]), new Map([["a", one]]), 1);
    expect(change?.deviation).toBeCloseTo(Math.SQRT2, 12);
  });
});
