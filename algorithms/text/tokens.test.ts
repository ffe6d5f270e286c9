import fc from "fast-check";
import { expect, test } from "vitest";
import { estimateTokens, exampleTokens, tokensAtMost, tokensPerTurn } from "./tokens.ts";

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

test("what is paid by tokens is bounded by bytes, and by no fewer than are estimated", () => {
  // Counts of o200k_base and of byte-fallback tokenizers, whichever is more.
  for (const [text, tokens] of [
    ["The quick brown fox jumps over the lazy dog.", 10],
    ["日本語のテキスト", 24],
    ["Привет, мир", 9],
    ["👩‍👩‍👧‍👦🇩🇪", 33],
    ["1234567890.1234567890", 21],
    ['{"a":[1,2,3]}', 13],
  ] as const)
    expect(tokensAtMost(text), text).toBeGreaterThanOrEqual(tokens);
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(tokensAtMost(text)).toBeGreaterThanOrEqual(Math.floor((estimateTokens(text) * 3) / 3.5));
      expect(tokensAtMost(text)).toBeLessThanOrEqual(Buffer.byteLength(text) + 1);
    }),
  );
});
