import { expect, test } from "vitest";
import { backoff, waitAfter } from "./backoff.ts";

test("waits double from the first to the limit and stay there", () => {
  const waits = backoff({ first: 50, limit: 300 });
  expect([1, 2, 3, 4, 5].map(() => waits.next())).toEqual([50, 100, 200, 300, 300]);
});

test("after a success it begins with the first wait again", () => {
  const waits = backoff({ first: 10, limit: 1_000 });
  waits.next();
  waits.next();
  waits.reset();
  expect([waits.next(), waits.next()]).toEqual([10, 20]);
});

test("two of the same values count for themselves", () => {
  const values = { first: 1, limit: 8 };
  const [one, other] = [backoff(values), backoff(values)];
  one.next();
  expect([one.next(), other.next()]).toEqual([2, 1]);
});

test("no number of failures overflows; a first wait of 0 stays 0; a first wait above the limit is waited once", () => {
  expect(waitAfter(1e9, { first: 1, limit: 5_000 })).toBe(5_000);
  expect(waitAfter(1e9, { first: 0, limit: 5_000 })).toBe(0);
  const above = backoff({ first: 100, limit: 10 });
  expect([above.next(), above.next()]).toEqual([100, 10]);
});
