import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { answerTokens, bestTokenF1, tokenF1 } from "./token-f1.ts";

describe("token F1", () => {
  it("splits commands into words, flags and marks", () => {
    expect(answerTokens("find . -name '*.java' | wc -l")).toEqual([
      "find",
      ".",
      "-name",
      "'",
      "*",
      ".java",
      "'",
      "|",
      "wc",
      "-l",
    ]);
  });

  it("is the harmonic mean of precision and recall", () => {
    // 2 of 2 tokens right, 2 of 4 found: P = 1, R = 1/2.
    expect(tokenF1("ls -l", "ls -l -a -h")).toBeCloseTo(2 / 3, 12);
    expect(tokenF1("ls -l", "pwd")).toBe(0);
  });

  it("counts repeats", () => {
    expect(tokenF1("a a a", "a")).toBeCloseTo(0.5, 12);
  });

  it("knows empty texts", () => {
    expect(tokenF1("", " ")).toBe(1);
    expect(tokenF1("", "ls")).toBe(0);
    expect(bestTokenF1("ls", [])).toBe(0);
  });

  it("takes the nearest reference", () => {
    expect(bestTokenF1("ls -al", ["ls -la", "ls -al"])).toBe(1);
  });

  it("is symmetric, within [0, 1], and 1 for a text and itself in another order", () => {
    const words = fc.array(fc.stringMatching(/^[a-z0-9|>-]{1,6}$/), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(words, words, (one, other) => {
        const score = tokenF1(one.join(" "), other.join(" "));
        expect(score).toBeCloseTo(tokenF1(other.join(" "), one.join(" ")), 12);
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(1);
        expect(tokenF1(one.join(" "), [...one].reverse().join(" "))).toBe(1);
      }),
    );
  });
});
