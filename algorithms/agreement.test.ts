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
