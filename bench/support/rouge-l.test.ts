import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rougeL } from "./rouge-l.ts";

describe("rougeL", () => {
  it.each([
    ["", "", 1],
    ["ls", "", 0],
    ["ls -l a", "ls -l a", 1],
    // Common subsequence "ls a" of 3 and 2 words.
    ["ls -l a", "ls a", 0.8],
    // Order matters: of "b a" and "a b" one word stays.
    ["b a", "a b", 0.5],
  ])("%j and %j: %d", (one, other, expected) => expect(rougeL(one, other)).toBeCloseTo(expected));

  it("is symmetric and at most 1", () => {
    const text = fc.array(fc.constantFrom("a", "b", "c", "|"), { maxLength: 12 }).map((words) => words.join(" "));
    fc.assert(
      fc.property(text, text, (one, other) => {
        expect(rougeL(one, other)).toBe(rougeL(other, one));
        expect(rougeL(one, other)).toBeLessThanOrEqual(1);
      }),
    );
  });
});
