import fc from "fast-check";
import { expect, it } from "vitest";
import { splitmix64 } from "../numeric/random.ts";
import { ordered, type ExampleOrder, type Orderable } from "./example-order.ts";

const one = (id: string, helpfulness: number): Orderable => ({ id, helpfulness, similarity: 0.5 });
const ids = (examples: readonly Orderable[]): string => examples.map(({ id }) => id).join("");
const never = () => {
  throw new Error("no chance here");
};

it("puts the most helpful last, behind a live prefix where there is one", () => {
  const examples = [one("a", 0.9), one("b", 0.6), one("c", 0.7), one("d", 0.8)];
  expect(ids(ordered(examples, "best_last", never))).toBe("bcda");
  expect(ids(ordered(examples, "shared_prefix", never))).toBe("bcda");
  expect(ids(ordered(examples, "shared_prefix", never, ["c", "gone", "a"]))).toBe("cabd");
});

it("draws every permutation equally often", () => {
  const random = splitmix64(1);
  const counts = new Map<string, number>();
  for (let i = 0; i < 6_000; i++) {
    const order = ids(ordered([one("a", 1), one("b", 0.5), one("c", 0)], "random", random));
    counts.set(order, (counts.get(order) ?? 0) + 1);
  }
  expect(counts.size).toBe(6);
  for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(150);
});

it("is a permutation, and but for chance the same however the examples come", () => {
  const example = fc.record({
    id: fc.string({ minLength: 1, maxLength: 3 }),
    helpfulness: fc.constantFrom(0, 0.5, 1),
    similarity: fc.constantFrom(0.1, 0.2),
  });
  fc.assert(
    fc.property(
      fc.uniqueArray(example, { selector: ({ id }) => id, maxLength: 12 }),
      fc.constantFrom<ExampleOrder>("best_last", "shared_prefix", "random"),
      fc.array(fc.string({ maxLength: 3 })),
      (examples, order, first) => {
        const result = ordered(examples, order, splitmix64(1), first);
        expect([...result].sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual(
          [...examples].sort((a, b) => (a.id < b.id ? -1 : 1)),
        );
        expect(ordered(examples.toReversed(), order, splitmix64(1), first)).toEqual(result);
      },
    ),
  );
});
