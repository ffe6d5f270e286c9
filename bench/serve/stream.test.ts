import { expect, test } from "vitest";
import { finalNumber, lastNumber } from "./stream.ts";

test.each([
  ["6 * 7 = 42\n#### 42", 42],
  ["#### 1\nno, wait\n#### $1,234.50.", 1234.5],
  ["#### **-7** apples", -7],
  ["####\n70", 70],
  ["#### .5", 0.5],
  ["42", null],
  ["#### none", null],
])("the number behind the last #### of %j is %j", (answer, number) => {
  expect(finalNumber(answer)).toBe(number);
});

test.each([
  ["so the total is \\(\\boxed{33}\\).", 33],
  ["16-3=13, which are 13 eggs.", 13],
  ["16-3", 3],
  ["it falls to -3 degrees", -3],
  ["1,000,000", 1_000_000],
  ["none", null],
])("the last number of %j is %j", (answer, number) => {
  expect(lastNumber(answer)).toBe(number);
});
