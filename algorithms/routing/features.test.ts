import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFeatures, FEATURE_COUNT, FEATURE_GROUP_OF, FEATURE_NAMES, FEATURE_VERSION } from "./features.ts";
import { HELPFULNESS_FEATURE_NAMES } from "../selection/helpfulness-features.ts";
import { normal, splitmix64 } from "../numeric/random.ts";

const features = createFeatures();
const input = { question: "how many files?", promptCharacters: 15, messages: 1, embedding: null, examples: [] };
const named = (x: number[]): Record<string, number> =>
  Object.fromEntries(x.map((value, i) => [FEATURE_NAMES[i]!, value]));

function unit(seed: number, dimension = 384): Float32Array {
  const random = splitmix64(seed);
  const values = Float32Array.from({ length: dimension }, () => normal(random));
  const length = Math.hypot(...values);
  return values.map((value) => value / length);
}

describe("features", () => {
  it("has a fixed layout", () => {
    expect([FEATURE_VERSION, FEATURE_COUNT]).toEqual([3, 44]);
    const x = features(input);
    expect(x).toHaveLength(FEATURE_COUNT);
    const by = named(x);
    expect(by).toMatchObject({
      constant: 1,
      turns: 0,
      lines: 0,
      digits: 0,
      codeLike: 0,
      exampleCount: 0,
      embedding0: 0,
    });
    expect(by["questionWords"]).toBeGreaterThan(0);
  });

  it("is finite and in [-1, 1] for any text, any unit vector and any examples", () => {
    const example = fc.record({
      similarity: fc.double({ min: -1, max: 1, noNaN: true }),
      helpfulness: fc.double({ min: 0, max: 1, noNaN: true }),
      tokens: fc.nat(100_000),
    });
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 400 }),
        fc.nat(20_000_000),
        fc.integer({ min: 1, max: 500 }),
        fc.option(fc.nat()),
        fc.array(example, { maxLength: 70 }),
        (question, promptCharacters, messages, seed, examples) => {
          const embedding = seed === null ? null : unit(seed, 16);
          for (const value of features({ question, promptCharacters, messages, embedding, examples }))
            expect(Math.abs(value)).toBeLessThanOrEqual(1);
        },
      ),
    );
  });

  it("projects the embedding the same way in every process", () => {
    const embedding = unit(1);
    const x = features({ ...input, embedding });
    expect(createFeatures()({ ...input, embedding })).toEqual(x);
    const other = features({ ...input, embedding: unit(2) });
    expect(other).not.toEqual(x);
    // Pinned: a change of these numbers is a change of the layout and needs a new version.
    expect(named(x)["embedding0"]).toMatchInlineSnapshot(`0.4488334776248166`);
  });

  it("tells a shown example from none", () => {
    const by = named(
      features({
        ...input,
        examples: [
          { similarity: 0.9, helpfulness: 0.7, tokens: 30 },
          { similarity: 0.5, helpfulness: 0.5, tokens: 10 },
        ],
      }),
    );
    expect(by["exampleCount"]).toBe(0.25);
    expect(by["bestHelpfulness"]).toBe(0.7);
    expect(by["meanHelpfulness"]).toBeCloseTo(0.6, 12);
    expect(by["bestSimilarity"]).toBe(0.9);
    expect(by["strongOverlap"]).toBeCloseTo(0.5, 12);
  });

  it("counts what makes a question hard, and takes the rows of the examples' helpfulness", () => {
    const by = (question: string) => named(features({ ...input, question }));
    const hard = by("If Ann has 3 more apples than Bob, and Cy has twice as many, how many have they?");
    const easy = by("how many apples");
    for (const name of ["words", "commas", "numbers", "names", "connectives", "comparatives"])
      expect(hard[name]).toBeGreaterThan(easy[name]!);
    const row = HELPFULNESS_FEATURE_NAMES.map(
      (name) => ({ consensus: 0.7, agreement: 0.4, sourceCost: 0.2 })[name] ?? 0,
    );
    const example = { similarity: 0.9, helpfulness: 0.7, tokens: 30 };
    const rated = named(features({ ...input, cost: 0.3, examples: [{ ...example, features: row }, example] }));
    expect(rated).toMatchObject({ consensus: 0.7, agreement: 0.2, sourceCost: 0.1, armCost: 0.3 });
    expect(FEATURE_GROUP_OF).toHaveLength(FEATURE_COUNT);
  });

  it.each([
    ["Which is right?\nA. one\nB. two\n(C) three", { choices: 1, endsAsking: 0 }],
    ["下列哪一项是正确的？", { otherScript: 1, endsAsking: 1, choices: 0 }],
    ["Чему равно \\frac{1}{2} + $x$", { otherScript: 1, formulas: 0.6 }],
    ["Write a python function that returns a list", { beginsWithTask: 1, otherScript: 0 }],
    ["How many apples are left?  ", { howMany: 1, endsAsking: 1, blank: 0 }],
    ["Sarah was better than Maria, so _ got the easy cases. Grüße", { blank: 1, otherScript: 0 }],
    ["a. b. c.", { choices: 0 }],
    ["", { choices: 0, formulas: 0, otherScript: 0, codeWords: 0, howMany: 0, blank: 0, endsAsking: 0 }],
  ])("tells what kind of request %j is", (question, expected) => {
    const by = named(features({ ...input, question }));
    for (const [name, value] of Object.entries(expected)) expect(by[name]).toBeCloseTo(value, 0);
  });

  it("takes linear time where a pattern could be tried at every place", () => {
    for (const part of ["\n", " ", "A. ", "\n\t(A", "how ", "?", "\\", "ß", "(((A"])
      expect(features({ ...input, question: part.repeat(200_000) })).toHaveLength(FEATURE_COUNT);
  });

  it("looks at the head of a huge question only", () => {
    const start = features({ ...input, question: `${"a".repeat(10_000)}${"7".repeat(1_000_000)}` });
    expect(named(start)["digits"]).toBe(0);
  });
});
