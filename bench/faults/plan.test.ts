// Every fault comes once a round, in an order that the seed decides.
import { expect, it } from "vitest";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { rounds } from "./plan.ts";

const values = ["a", "b", "c", "d", "e"];
const take = (count: number, seed: number): string[] => {
  const plan = rounds(values, splitmix64(seed));
  return Array.from({ length: count }, () => plan.next().value);
};

it("holds every value once a round", () => {
  const plan = take(15, 7);
  for (const round of [0, 5, 10]) expect(plan.slice(round, round + 5).sort()).toEqual(values);
});

it("is the same for the same seed, and another for another", () => {
  expect(take(15, 7)).toEqual(take(15, 7));
  expect(take(15, 7)).not.toEqual(take(15, 8));
});

it("refuses to make rounds of nothing", () => {
  expect(() => rounds([], splitmix64(7)).next()).toThrow(RangeError);
});
