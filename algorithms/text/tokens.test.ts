import fc from "fast-check";
import { expect, test } from "vitest";
import { estimateTokens, exampleTokens, tokensPerTurn } from "./tokens.ts";

test("known texts", () => {
  expect(estimateTokens("")).toBe(0);
  expect(estimateTokens("a")).toBe(1);
  expect(estimateTokens("list all files larger than 10MB")).toBe(9);
  expect(estimateTokens("日本語")).toBe(3);
  expect(exampleTokens("", "")).toBe(2 * tokensPerTurn);
});

test("more text is never fewer tokens, and a whole is about the sum of its parts", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (a, b) => {
      const whole = estimateTokens(a + b);
      const parts = estimateTokens(a) + estimateTokens(b);
      expect(whole).toBeGreaterThanOrEqual(estimateTokens(a));
      expect(Math.abs(whole - parts)).toBeLessThanOrEqual(1);
    }),
  );
});
