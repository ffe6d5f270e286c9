import fc from "fast-check";
import { expect, it } from "vitest";
import { agreementsOf } from "./agreement.ts";

it("is high for what the neighbours answer too, low for the odd one out", () => {
  const [one, two, odd] = agreementsOf([
    { response: "find . -name x", similarity: 0.9 },
    { response: "find . -name y", similarity: 0.85 },
    { response: "rm -rf /", similarity: 0.9 },
  ]);
  expect(one?.all).toBeGreaterThan(odd!.all);
  expect(two?.nearest).toBe(0.75);
  expect(odd?.opening).toBe(0);
  // The other two weigh e^-0.5 and 1.
  expect(one?.opening).toBeCloseTo(Math.exp(-0.5) / (1 + Math.exp(-0.5)));
});

it("is zero for one that has no neighbours, and finite for odd similarities", () => {
  expect(agreementsOf([{ response: "ls", similarity: 1 }])[0]).toMatchObject({ all: 0, nearest: 0, opening: 0 });
  expect(agreementsOf([])).toEqual([]);
  for (const { all } of agreementsOf([
    { response: "ls", similarity: NaN },
    { response: "ls", similarity: 0.5 },
  ]))
    expect(all).toBeGreaterThanOrEqual(0);
});

it("does not depend on the order of the candidates", () => {
  const candidate = fc.record({
    response: fc.string({ unit: fc.constantFrom("ls", "rm", "-a", " "), maxLength: 6 }),
    // Beyond cosines too: weights that underflow.
    similarity: fc.oneof(fc.double({ min: -1, max: 1, noNaN: true }), fc.constantFrom(-100, -73, 0, 1)),
  });
  fc.assert(
    fc.property(fc.array(candidate, { maxLength: 8 }), (found) => {
      const backwards = agreementsOf(found.toReversed()).toReversed();
      agreementsOf(found).forEach(({ all, nearest, opening }, i) => {
        expect(all).toBeCloseTo(backwards[i]!.all, 12);
        expect(nearest).toBe(backwards[i]!.nearest);
        expect(opening).toBeCloseTo(backwards[i]!.opening, 12);
      });
    }),
  );
});
