import fc from "fast-check";
import { expect, test } from "vitest";
import {
  chosenProbes,
  decideProbes,
  defaultIndexOptions,
  probesFor,
  rebuildFor,
  recallAt,
  recallError,
  type IndexOptions,
} from "./tuning.ts";

const options: IndexOptions = { ...defaultIndexOptions, exactLimit: 1_000, probeSamples: 2, recallTarget: 0.9 };

test.each([
  [{ size: 1_000, lists: 0, trainedSize: 0 }, null],
  [{ size: 1_001, lists: 0, trainedSize: 0 }, 32],
  [{ size: 1_999, lists: 32, trainedSize: 1_001 }, null],
  [{ size: 2_002, lists: 32, trainedSize: 1_001 }, 45],
  [{ size: 2_001, lists: 64, trainedSize: 4_001 }, null],
  [{ size: 2_000, lists: 64, trainedSize: 4_001 }, 45],
  [{ size: 600, lists: 32, trainedSize: 1_001 }, null],
  [{ size: 500, lists: 32, trainedSize: 1_001 }, 0],
])("%j is rebuilt with %j clusters", (state, lists) => {
  expect(rebuildFor(state, options)).toBe(lists);
});

test("what was just built is never built again at once, whatever its size", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2_000_000 }), (size) => {
      const lists = size > options.exactLimit ? Math.ceil(Math.sqrt(size)) : 0;
      expect(rebuildFor({ size, lists, trainedSize: size }, options)).toBe(null);
    }),
  );
});

test("probesFor gives the fewest probes that reach a recall", () => {
  const ranks = fc.array(
    fc.array(fc.integer({ min: 0, max: 49 }), { minLength: 1 }).map((r) => Uint32Array.from(r)),
    {
      minLength: 1,
    },
  );
  fc.assert(
    fc.property(ranks, fc.double({ min: 0.1, max: 1, noNaN: true }), (ranks, recall) => {
      const probes = probesFor(ranks, recall, 50);
      if (probes < 50) expect(recallAt(ranks, probes)).toBeGreaterThanOrEqual(recall);
      if (probes > 1) expect(recallAt(ranks, probes - 1)).toBeLessThan(recall);
    }),
  );
});

test("the more searches were compared, the fewer probes are chosen beyond those that just reach the target", () => {
  const rank = fc.integer({ min: 0, max: 49 });
  const search = fc.array(rank, { minLength: 1, maxLength: 8 }).map((ranks) => Uint32Array.from(ranks));
  fc.assert(
    fc.property(fc.array(search, { minLength: 2, maxLength: 20 }), fc.integer({ min: 2, max: 9 }), (ranks, times) => {
      const many = Array.from({ length: times }, () => ranks).flat();
      expect(recallError(many, 10)).toBeLessThanOrEqual(recallError(ranks, 10) + 1e-12);
      const [few, more] = [chosenProbes(ranks, 50, options), chosenProbes(many, 50, options)];
      expect(more).toBeGreaterThanOrEqual(probesFor(ranks, options.recallTarget, 50));
      if (few < 50) expect(recallAt(ranks, few) - recallError(ranks, few)).toBeGreaterThanOrEqual(options.recallTarget);
    }),
  );
  // Nine of ten searches find all of theirs with one probe, the last needs twenty.
  const mixed = (n: number): Uint32Array[] =>
    Array.from({ length: n }, (_, i) => Uint32Array.of(i % 10 === 9 ? 19 : 0));
  expect(chosenProbes(mixed(10), 50, { ...options, recallTarget: 0.88 })).toBe(20);
  expect(chosenProbes(mixed(1_000), 50, { ...options, recallTarget: 0.88 })).toBe(1);
});

const searches = (n: number, ...ranks: number[]): Uint32Array[] =>
  Array.from({ length: n }, () => Uint32Array.from(ranks));
const state = { probes: 2, lists: 100, size: 10_000, trainedSize: 10_000 };

test("too few compared searches decide nothing", () => {
  expect(decideProbes({ ...state, ranks: searches(1, 0, 9) }, options)).toEqual({ kind: "keep" });
});

test("a recall under the target raises the probes to what reaches it", () => {
  expect(decideProbes({ ...state, ranks: searches(2, 0, 1, 3, 7) }, options)).toEqual({ kind: "probes", probes: 8 });
});

test("a mean under the target decides once it is clearly under it, or many searches have it", () => {
  // Half of the searches miss nothing, half miss a quarter: mean 0.875, under the target of 0.9.
  const ranks = (n: number): Uint32Array[] =>
    Array.from({ length: n }, (_, i) => Uint32Array.of(0, 0, 1, i % 2 === 0 ? 1 : 5));
  expect(decideProbes({ ...state, ranks: ranks(4) }, options)).toEqual({ kind: "keep" });
  expect(decideProbes({ ...state, ranks: ranks(20) }, options)).toEqual({ kind: "probes", probes: 6 });
});

test("clusters that need too many probes are trained again when their content has changed, else probed more", () => {
  const ranks = searches(2, 0, 40);
  expect(decideProbes({ ...state, size: 12_000, ranks }, options)).toEqual({ kind: "rebuild" });
  expect(decideProbes({ ...state, ranks }, options)).toEqual({ kind: "probes", probes: 41 });
});

test("far more probes than it takes are lowered, once many searches say so", () => {
  expect(decideProbes({ ...state, probes: 20, ranks: searches(19, 0, 1) }, options)).toEqual({ kind: "keep" });
  expect(decideProbes({ ...state, probes: 20, ranks: searches(20, 0, 1) }, options)).toEqual({
    kind: "probes",
    probes: 2,
  });
});
