import { expect, it } from "vitest";
import { addUse, reuseCredit, valueAt } from "./reuse-value.ts";

it("credits a use by 1/CFO, at most the chunk's tokens", () => {
  expect(reuseCredit(0.5, 40)).toBe(2);
  expect(reuseCredit(0, 40)).toBe(40);
  expect(reuseCredit(1, 40)).toBe(1);
});

it("halves in the half-life; a clock that went back does no harm", () => {
  const value = addUse({ value: 8, at: 0 }, 2, 1_000, 1_000);
  expect(value).toEqual({ value: 6, at: 1_000 });
  expect(valueAt(value, 3_000, 1_000)).toBe(1.5);
  expect(addUse(value, 1, 500, 1_000)).toEqual({ value: 7, at: 1_000 });
});
