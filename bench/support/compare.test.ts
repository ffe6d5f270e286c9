import { expect, test } from "vitest";
import { compare } from "./compare.ts";

const wanted = { throughput_ratio: "more", cpu_ratio: "less" } as const;

test("says what got worse or better by more than the limit, whichever direction is the better one", () => {
  const recorded = { throughput_ratio: 0.4, cpu_ratio: 5, other: "x" };
  const verdicts = (throughput_ratio: number, cpu_ratio: number): string[] =>
    compare(wanted, recorded, { throughput_ratio, cpu_ratio }, 0.15).map(({ verdict }) => verdict);
  expect(verdicts(0.35, 5.7)).toEqual(["same", "same"]);
  expect(verdicts(0.33, 5.8)).toEqual(["worse", "worse"]);
  expect(verdicts(0.47, 4.2)).toEqual(["better", "better"]);
});

test("a figure that is not there is no figure that stayed the same", () => {
  expect(() => compare(wanted, { throughput_ratio: 0.4 }, { throughput_ratio: 0.4, cpu_ratio: 5 }, 0.15)).toThrow(
    "the recorded run has no cpu_ratio (undefined)",
  );
  expect(() => compare({ cpu_ratio: "less" }, { cpu_ratio: 5 }, { cpu_ratio: null }, 0.15)).toThrow(
    "this run has no cpu_ratio (null)",
  );
});
