import { expect, test } from "vitest";
import { rarely } from "./rarely.ts";

test("twice as long from time to time, up to the limit", () => {
  let time = 0;
  const due = rarely({ first: 1, limit: 30 }, () => time);
  const reported: number[] = [];
  for (; time <= 150; time++) if (due()) reported.push(time);
  expect(reported).toEqual([1, 3, 7, 15, 31, 61, 91, 121]);
});
