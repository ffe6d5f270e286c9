import fc from "fast-check";
import { expect, it } from "vitest";
import { createShareBudget } from "./share-budget.ts";

const hour = 3_600_000;

it("gives a share of an owner's requests, and no more than so many an hour", () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.integer({ min: 0, max: 20 }),
      fc.array(fc.record({ owner: fc.constantFrom("a", "b"), wants: fc.boolean() }), { maxLength: 200 }),
      (share, perHour, requests) => {
        const budget = createShareBudget({ share, perHour });
        const made = new Map<string, { requests: number; taken: number }>();
        for (const { owner, wants } of requests) {
          const own = made.get(owner) ?? { requests: 0, taken: 0 };
          made.set(owner, own);
          own.requests++;
          budget.count(owner, 5 * hour + 3);
          if (wants && budget.take(owner, 5 * hour + 3)) own.taken++;
          expect(own.taken).toBeLessThanOrEqual(perHour);
          expect(own.taken).toBeLessThanOrEqual(share === 0 ? 0 : Math.max(1, share * own.requests));
        }
      },
    ),
  );
});

it("admits all requests where the share is 1, and resets every hour", () => {
  const budget = createShareBudget({ share: 1, perHour: 3 });
  const taken = (now: number): boolean => {
    budget.count("a", now);
    return budget.take("a", now);
  };
  expect([1, 2, 3, 4].map(taken)).toEqual([true, true, true, false]);
  // A clock that goes back opens no new hour.
  expect([hour, hour - 1, hour + 1, hour + 2].map(taken)).toEqual([true, true, true, false]);
});

it("counts a bounded number of owners", () => {
  const budget = createShareBudget({ share: 1, perHour: 3, owners: 2 });
  expect(["a", "b", "c"].map((owner) => budget.take(owner, 0))).toEqual([true, true, false]);
  expect(budget.take("c", hour)).toBe(true);
});
