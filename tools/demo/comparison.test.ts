import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { compare, type Pair, runningMeans, verdictOf } from "./comparison.ts";
import { briefly, showComparison } from "./comparison-lines.ts";
import { createScreen } from "./screen.ts";

/** `count` questions, each with these costs and scores: the system's first. */
const pairs = (count: number, [cost, paid]: [number, number], [score, other]: [number, number]): Pair[] =>
  Array.from({ length: count }, () => ({ system: { cost, score }, large: { cost: paid, score: other } }));

const verdict = (...all: Pair[][]): string => verdictOf(compare(all.flat()));

describe("compare", () => {
  it("gives the share of the sums of costs, and the difference of the mean scores", () => {
    const compared = compare([
      { system: { cost: 1, score: 1 }, large: { cost: 1, score: 1 } },
      { system: { cost: 2, score: 0.5 }, large: { cost: 5, score: 0 } },
    ]);
    expect(compared).toMatchObject({ questions: 2, costShare: { value: 0.5 } });
    expect(compared.scores).toMatchObject({ system: 0.75, large: 0.5, difference: 0.25 });
  });

  it("gives an interval around the value, the same each time", () => {
    const mixed = [...pairs(20, [1, 2], [1, 0.5]), ...pairs(20, [2, 2], [0.5, 0.5])];
    const { costShare, scores } = compare(mixed);
    expect(costShare!.interval!.low).toBeLessThan(0.75);
    expect(costShare!.interval!.high).toBeGreaterThan(0.75);
    expect(scores.interval!.low).toBeLessThan(0.25);
    expect(scores.interval!.high).toBeGreaterThan(0.25);
    expect(compare(mixed)).toEqual(compare(mixed));
  });

  it("has no interval of few questions or none, and no share of no costs", () => {
    expect(compare([])).toMatchObject({ questions: 0, costShare: null, scores: { difference: 0, interval: null } });
    for (const few of [1, 19])
      expect(compare(pairs(few, [1, 2], [1, 1]))).toMatchObject({
        costShare: { value: 0.5, interval: null },
        scores: { interval: null },
      });
    expect(compare(pairs(20, [1, 2], [1, 1])).costShare!.interval).toEqual({ low: 0.5, high: 0.5 });
  });
});

describe("verdict", () => {
  it("claims a gain where both intervals show it", () => {
    expect(verdict(pairs(30, [1, 2], [0.8, 0.7]))).toMatch(/^Shown: .* costs less .* are better\.$/);
    expect(verdict(pairs(30, [1, 2], [0.8, 0.8]))).toMatch(/^Shown: .* costs less .* at most 0\.05 worse\.$/);
  });

  it("says so where the system costs more, or its answers are worse", () => {
    expect(verdict(pairs(30, [3, 2], [1, 0]))).toMatch(/^It does not pay here/);
    expect(verdict(pairs(30, [1, 2], [0.78, 0.8]))).toMatch(/a trade, not a gain\.$/);
  });

  it("says what is not shown", () => {
    const apart = [pairs(10, [1, 2], [1, 0]), pairs(10, [1, 2], [0, 1])];
    expect(verdict(...apart)).toMatch(/^Shown: it costs less\. Not shown: 20 questions are too few/);
    expect(verdict(pairs(10, [1, 3], [1, 0]), pairs(10, [3, 1], [1, 0]))).toMatch(/^Not shown: 20 questions/);
    expect(verdict(pairs(19, [1, 2], [1, 0]))).toMatch(/^Not shown: 19 questions are too few/);
    expect(verdict(pairs(1, [1, 2], [1, 0]))).toMatch(/^Not shown: 1 question is too few/);
    expect(verdict(pairs(20, [2, 2], [1, 0]))).toMatch(/^Not shown: /);
    expect(verdict(pairs(20, [0, 0], [1, 0]))).toMatch(/there is no cost to compare/);
    expect(verdict()).toMatch(/^Not shown: no question/);
  });
});

it("shows both curves by name, both intervals, and the verdict", () => {
  const out = new PassThrough();
  const screen = createScreen(out as unknown as NodeJS.WriteStream);
  const all = [...pairs(10, [2, 2], [0.5, 0.5]), ...pairs(10, [1, 2], [1, 0.5])];
  showComparison(screen, all);
  showComparison(screen, []);
  const text = stripVTControlCharacters(String(out.read()));
  expect(text).toMatch(/^ +0\.75 .*─ +the system$/m);
  expect(text).toMatch(/^ +0\.50 .*─ +large alone$/m);
  expect(text).toMatch(/cost +75 % of large alone \(95 % interval over the questions: \d+ % to \d+ %\)/);
  expect(text).toMatch(/token F1 +0\.75, large alone 0\.50: \+0\.25 \(95 % interval .*: \+0\.\d\d to \+0\.\d\d\)/);
  expect(text).toContain(verdict(all));
  expect(text).toContain(verdict());
  expect(briefly(all)).toBe("cost 75 % of large alone, token F1 0.75 to 0.50");
});

it("averages what has come so far", () => {
  expect(runningMeans([1, 0, 0.5])).toEqual([1, 0.5, 0.5]);
});
