import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { histogramQuantile, median, quantile, significant, slope, spread } from "./statistics.ts";

const numbers = fc.array(fc.double({ noNaN: true, min: -1e6, max: 1e6 }), { minLength: 1, maxLength: 50 });

describe("quantile", () => {
  test("interpolates as NumPy does", () => {
    expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5);
    expect(quantile([1, 2, 3, 4, 5], 0.25)).toBe(2);
    expect(quantile([10, 20], 0.9)).toBeCloseTo(19, 12);
    expect(quantile([7], 0.99)).toBe(7);
  });
  test("leaves its input as it is", () => {
    const values = [3, 1, 2];
    median(values);
    expect(values).toEqual([3, 1, 2]);
  });
  test("refuses nothing at all and shares outside [0, 1]", () => {
    expect(() => quantile([], 0.5)).toThrow(RangeError);
    expect(() => quantile([1], 1.1)).toThrow(RangeError);
    expect(() => quantile([1], Number.NaN)).toThrow(RangeError);
  });
  test("grows with q and stays between minimum and maximum", () => {
    fc.assert(
      fc.property(
        numbers,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (values, p, q) => {
          const [low, high] = [Math.min(p, q), Math.max(p, q)];
          expect(quantile(values, low)).toBeLessThanOrEqual(quantile(values, high) + 1e-6);
          const { minimum, maximum } = spread(values);
          expect(quantile(values, q)).toBeGreaterThanOrEqual(minimum);
          expect(quantile(values, q)).toBeLessThanOrEqual(maximum);
        },
      ),
    );
  });
});

test("spread is median, minimum and maximum", () => {
  expect(spread([5, 1, 9])).toEqual({ median: 5, minimum: 1, maximum: 9 });
});

describe("histogramQuantile", () => {
  const buckets = [
    { atMost: 1, count: 10 },
    { atMost: 2, count: 30 },
    { atMost: Infinity, count: 40 },
  ];
  test("interpolates within the bucket", () => {
    expect(histogramQuantile(buckets, 0.5)).toBe(1.5);
    expect(histogramQuantile(buckets, 0.125)).toBe(0.5);
  });
  test("gives the last finite bound for what lies beyond", () => {
    expect(histogramQuantile(buckets, 0.9)).toBe(2);
  });
  test("an empty histogram has none", () => {
    expect(histogramQuantile([{ atMost: Infinity, count: 0 }], 0.5)).toBeNaN();
    expect(histogramQuantile([], 0.5)).toBeNaN();
  });
});

test("significant rounds to digits that mean something", () => {
  expect(significant(1234.567)).toBe(1235);
  expect(significant(0.00123456)).toBe(0.001235);
  expect(significant(0)).toBe(0);
});

test("slope is that of the line through the points", () => {
  expect(
    slope([
      [1, 3],
      [2, 5],
      [4, 9],
    ]),
  ).toBeCloseTo(2);
  expect(
    slope([
      [1, 3],
      [1, 5],
    ]),
  ).toBeNaN();
  expect(slope([])).toBeNaN();
});
