import fc from "fast-check";
import { expect, it } from "vitest";
import { agreementsOf as agreementsOfTokens } from "./agreement.ts";
import { hashTokens } from "../text/text-overlap.ts";
import { tokenF1 } from "../text/token-f1.ts";

const agreementsOf = (found: readonly { response: string; similarity: number }[], overlaps: ArrayLike<number>) => {
  const { all, nearest, opening, consensus } = agreementsOfTokens(
    found.map(({ similarity }) => similarity),
    found.map(({ response }) => hashTokens(response)),
    overlaps,
  );
  return found.map((_, i) => ({
    all: all[i]!,
    nearest: nearest[i]!,
    opening: opening[i]!,
    consensus: consensus[i]!,
  }));
};

/** No candidate's request has a word of the request. */
const nothingShared = new Float64Array(8);

it("is high for what the neighbours answer too, low for the odd one out", () => {
  const [one, two, odd] = agreementsOf(
    [
      { response: "find . -name x", similarity: 0.9 },
      { response: "find . -name y", similarity: 0.85 },
      { response: "rm -rf /", similarity: 0.9 },
    ],
    nothingShared,
  );
  expect(one?.all).toBeGreaterThan(odd!.all);
  expect(two?.nearest).toBe(0.75);
  expect(odd?.opening).toBe(0);
  // The other two weigh e^-0.5 and 1.
  expect(one?.opening).toBeCloseTo(Math.exp(-0.5) / (1 + Math.exp(-0.5)));
});

it("is zero for one that has no neighbours, and finite for odd similarities", () => {
  expect(agreementsOf([{ response: "ls", similarity: 1 }], nothingShared)[0]).toMatchObject({
    ...{ all: 0, nearest: 0, opening: 0 },
    consensus: 1,
  });
  expect(agreementsOf([], [])).toEqual([]);
  const odd = [
    { response: "ls", similarity: NaN },
    { response: "ls", similarity: 0.5 },
  ];
  for (const { all, consensus } of agreementsOf(odd, nothingShared))
    for (const value of [all, consensus]) expect(value).toBeGreaterThanOrEqual(0);
});

it("does not depend on the order of the candidates", () => {
  const candidate = fc.record({
    response: fc.string({ unit: fc.constantFrom("ls", "rm", "-a", " "), maxLength: 6 }),
    // Beyond cosines too: weights that underflow.
    similarity: fc.oneof(fc.double({ min: -1, max: 1, noNaN: true }), fc.constantFrom(-100, -73, 0, 1)),
    overlap: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(candidate, { maxLength: 8 }), (found) => {
      const agreements = (of: typeof found) =>
        agreementsOf(
          of,
          of.map(({ overlap }) => overlap),
        );
      const backwards = agreements(found.toReversed()).toReversed();
      agreements(found).forEach(({ all, nearest, opening, consensus }, i) => {
        expect(consensus).toBeCloseTo(backwards[i]!.consensus, 12);
        expect(all).toBeCloseTo(backwards[i]!.all, 12);
        expect(nearest).toBe(backwards[i]!.nearest);
        expect(opening).toBeCloseTo(backwards[i]!.opening, 12);
      });
    }),
  );
});

it("has a consensus in [0, 1] that is the expected token F1 when one candidate's answer is right", () => {
  const candidate = fc.record({
    response: fc.string({ unit: fc.constantFrom("ls ", "rm ", "-a ", "x "), maxLength: 5 }),
    similarity: fc.double({ min: -1, max: 1, noNaN: true }),
    overlap: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(candidate, { minLength: 1, maxLength: 8 }), (found) => {
      const weights = found.map(({ similarity, overlap }) => Math.exp(15 * similarity + 6 * overlap));
      const sum = weights.reduce((total, weight) => total + weight, 0);
      agreementsOf(
        found,
        found.map(({ overlap }) => overlap),
      ).forEach(({ consensus }, i) => {
        const expected = found.map(({ response }, j) => (weights[j]! / sum) * tokenF1(found[i]!.response, response));
        expect(consensus).toBeCloseTo(
          expected.reduce((total, value) => total + value, 0),
          9,
        );
      });
    }),
  );
});

it("prefers what the candidates that share the request's words answer", () => {
  const found = [
    { response: "find . -name x", similarity: 0.8 },
    { response: "grep -r x", similarity: 0.8 },
  ];
  const [first, second] = agreementsOf(found, [0.2, 0.6]);
  expect(second!.consensus).toBeGreaterThan(first!.consensus);
});
