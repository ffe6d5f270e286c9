import { expect, test } from "vitest";
import { createProgress, divide, expectedSeconds, lineCount } from "./test-schedule.mjs";

test("a file without a record is expected to take the median of the others", () => {
  const recorded = { a: 1, b: 5, c: 90, gone: 1_000 };
  expect([...expectedSeconds(["a", "b", "c", "new"], recorded)]).toEqual([
    ["a", 1],
    ["b", 5],
    ["c", 90],
    ["new", 5],
  ]);
  expect(expectedSeconds(["new"], {}).get("new")).toBe(10);
});

test("the longest files go first, to the line that is free first, and each file goes to one line", () => {
  const expected = new Map(Object.entries({ a: 10, b: 40, c: 20, d: 30, e: 5 }));
  expect(divide(expected, [0, 0])).toEqual([
    ["b", "a", "e"],
    ["d", "c"],
  ]);
  expect(divide(expected, [1_000, 0])).toEqual([[], ["b", "d", "c", "a", "e"]]);
});

test("lines are one more than cores, as far as memory goes, and never fewer than two", () => {
  const gibibyte = 2 ** 30;
  expect(lineCount(2, 24 * gibibyte)).toBe(3);
  expect(lineCount(4, 7 * gibibyte)).toBe(2);
  expect(lineCount(16, 31 * gibibyte)).toBe(10);
  expect(lineCount(1, gibibyte)).toBe(2);
});

test("what is left is the slowest line's rest at the pace of what is done", () => {
  let elapsed = 0;
  const progress = createProgress([600, 300], () => elapsed);
  expect(progress.left()).toBe(600);
  // Twice as slow as recorded, with the first 60 s of each line trusted: 1.8 times.
  elapsed = 480;
  progress.finish(0, 240);
  elapsed = 600;
  progress.finish(1, 300);
  expect(progress.left()).toBeCloseTo((360 * 1_200) / 660 - 120, 9);
  elapsed = 1_000;
  progress.finish(0, 1_000);
  expect(progress.left()).toBe(0);
});

test("a line that is at something long takes no longer for that", () => {
  let elapsed = 0;
  const progress = createProgress([600, 600], () => elapsed);
  elapsed = 100;
  progress.finish(0, 100);
  progress.finish(1, 100);
  expect(progress.left()).toBe(500);
  elapsed = 400;
  expect(progress.left()).toBe(200);
  elapsed = 2_000;
  expect(progress.left()).toBe(0);
});
