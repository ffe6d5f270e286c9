import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConditionError, verify } from "./condition.ts";

const figures = new Map<string, number | null>([
  ["difference", 0.02],
  ["lower(difference)", 0.005],
  ["upper(difference)", 0.035],
  ["effective", 812],
  ["lower(candidate)", null],
]);
const holds = (condition: string): boolean => verify(condition, figures).holds;

describe("a condition", () => {
  it.each<[string, boolean]>([
    ["lower(difference) > 0", true],
    ["lower(difference)>0.01", false],
    ["difference >= 0.02", true],
    ["difference < 2e-2", false],
    ["-0.1 <= difference", true],
    ["lower( difference ) > 0 and effective > 500", true],
    ["lower(difference) > 0 and effective > 5000", false],
    ["effective > 5000 or difference > 0", true],
    // and binds more tightly: true or (true and false).
    ["difference > 0 or difference > 0 and effective > 5000", true],
    // What is not known is never enough, in either direction.
    ["lower(candidate) > 0", false],
    ["lower(candidate) <= 0", false],
  ])("%s is %s", (condition, expected) => {
    expect(holds(condition)).toBe(expected);
  });

  it("shows the numbers of its comparisons", () => {
    expect(verify("lower(difference) > 0 and lower(candidate) > 1", figures).comparisons).toEqual([
      "lower(difference) > 0: 0.005 > 0",
      "lower(candidate) > 1: unknown > 1",
    ]);
  });

  it.each([
    ["", "a number or a figure is expected where it ends (character 1)"],
    ["difference", ">, >=, < or <= is expected where it ends (character 11)"],
    ["difference > ", "a number or a figure is expected where it ends"],
    ["difference = 0", '"=" (character 12) is part of no condition'],
    ["difference > 0 effective > 1", '"and", "or" or the end is expected where "effective" stands (character 16)'],
    ["lower difference > 0", "there is no figure lower (character 1); there are difference, lower(difference)"],
    ["lower(difference > 0", '")" is expected where ">" stands (character 18)'],
    ["lower(loss) > 0", "there is no figure lower(loss)"],
    ["constructor > 0", "there is no figure constructor"],
    ["process.exit(1)", '"." (character 8) is part of no condition'],
    [`${"1 > 0 and ".repeat(60)}1 > 0`, "at most 500 characters"],
  ])("%j is refused: %s", (condition, problem) => {
    expect(() => verify(condition, figures)).toThrow(problem);
  });

  it("whatever it says, is true, false or refused", () => {
    const words = fc.constantFrom(
      "difference",
      "lower",
      "(",
      ")",
      ">",
      "<=",
      "and",
      "or",
      "1",
      "-2",
      ".5",
      " ",
      "x",
      "$",
    );
    fc.assert(
      fc.property(fc.array(words, { maxLength: 20 }), (parts) => {
        try {
          expect(typeof holds(parts.join(" "))).toBe("boolean");
        } catch (error) {
          expect(error).toBeInstanceOf(ConditionError);
        }
      }),
      { numRuns: 500 },
    );
  });
});
