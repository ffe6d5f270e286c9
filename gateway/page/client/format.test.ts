import { describe, expect, it } from "vitest";
import {
  ago,
  apportion,
  cost,
  count,
  duration,
  figure,
  fraction,
  probabilities,
  share,
  shares,
  whole,
} from "./format.ts";

const sum = (texts: readonly string[]): number => texts.reduce((total, text) => total + (parseFloat(text) || 0), 0);

describe("figures", () => {
  it.each([
    [0, "0"],
    [-0, "0"],
    [1e-7, "0.0000001"],
    [1.234e-5, "0.0000123"],
    [1e-15, "< 0.000000000001"],
    [0.5, "0.5"],
    [0.1 + 0.2, "0.3"],
    [12.345, "12.3"],
    [999.9, "1,000"],
    [1_234.5, "1,235"],
    [-1_234_567, "-1,234,567"],
    [null, "–"],
    [undefined, "–"],
    [NaN, "–"],
    [Infinity, "–"],
  ])("%s is %s", (value, text) => {
    expect(figure(value)).toBe(text);
    expect(cost(value)).toBe(text);
  });
  it.each([
    [0, "0.000"],
    [0.0004, "< 0.001"],
    [0.0005, "0.001"],
    [0.9996, "> 0.999"],
    [1, "1.000"],
    [-0.0001, "> -0.001"],
    [-0.25, "-0.250"],
    [NaN, "–"],
  ])("the fraction %s is %s", (value, text) => expect(fraction(value)).toBe(text));
  it.each([
    [0, "0 %"],
    [0.0001, "< 0.1 %"],
    [0.034, "3.4 %"],
    [0.0999, "10 %"],
    [0.5, "50 %"],
    [0.996, "99.6 %"],
    [0.9999, "> 99.9 %"],
    [1, "100 %"],
    [-0.127, "-13 %"],
    [0 / 0, "–"],
  ])("the share %s is %s", (value, text) => expect(share(value)).toBe(text));
  it.each([
    [0, "0 ms"],
    [0.01, "< 0.1 ms"],
    [9.96, "10 ms"],
    [999.7, "1.00 s"],
    [9_996, "10.0 s"],
    [59_960, "1 min 0 s"],
    [119_600, "2 min 0 s"],
    [3_599_700, "1 h 0 min"],
    [-5, "-5 ms"],
    [null, "–"],
    [NaN, "–"],
  ])("%s ms are %s", (value, text) => expect(duration(value)).toBe(text));
  it("counts with thousands, whatever the language", () => {
    expect([count(1e6), count(999), count(-1_000), count(NaN)]).toEqual(["1,000,000", "999", "-1,000", "–"]);
  });
});

describe("parts of a whole", () => {
  it.each([
    [[1, 1, 1]],
    [[49.4, 49.4, 1.2]],
    [[1, 2, 3, 5, 8, 13, 21]],
    [[0.005, 0.995]],
    [[7, 0, 0]],
    [Array.from({ length: 37 }, (_, i) => i + 1)],
  ])("%j add up to 100", (values) => expect(sum(shares(values))).toBeCloseTo(100, 9));
  it("are never 0 where there is something", () => {
    expect(shares([1, 1e6])).toEqual(["< 0.1 %", "100 %"]);
    expect(shares([0, 0])).toEqual(["0 %", "0 %"]);
    expect(shares([])).toEqual([]);
    expect(shares([NaN, -1, 4])).toEqual(["0 %", "0 %", "100 %"]);
  });
  it("are probabilities that add up to 1 where they do", () => {
    expect(sum(probabilities([1 / 3, 1 / 3, 1 / 3]))).toBeCloseTo(1, 9);
    expect(probabilities([0.0001, 0.9999])).toEqual(["< 0.001", "> 0.999"]);
    expect(probabilities([0, 0])).toEqual(["0.000", "0.000"]);
    expect(probabilities([1])).toEqual(["1.000"]);
  });
  it("keep their order and their sum in any number of units", () => {
    expect(apportion([3, 3, 3], 100)).toEqual([34, 33, 33]);
    expect(apportion([], 10)).toEqual([]);
  });
});

describe("times", () => {
  it("that are none are a dash", () => {
    for (const at of [NaN, Infinity, 1e20, null, undefined]) expect([whole(at), ago(at)]).toEqual(["–", "–"]);
  });
  it("are in UTC, and how long ago", () => {
    expect(whole(0)).toBe("1970-01-01 00:00:00 UTC");
    expect(whole(1e15)).toMatch(/^\+033658-09-27 .* UTC$/);
    const now = Date.now();
    expect(ago(now + 60_000)).toBe("0 s ago");
    expect(ago(now - 59_700)).toBe("1 min ago");
    expect(ago(now - 10 * 86_400_000)).toBe("10 days ago");
  });
});
