import { expect, test } from "vitest";
import { guessLength } from "./length.ts";

test("words and other signs count, and long words a little more", () => {
  const guesses = ["", "ls", "list", "list all files", "list *.log in /tmp"].map(guessLength);
  expect(guesses).toEqual(guesses.toSorted((a, b) => a - b));
  expect(guessLength("list all files")).toBeCloseTo(3 + 14 / 20);
  // Fewer characters and more tokens.
  expect(guessLength("a=$(b|c)")).toBeGreaterThan(guessLength("incomprehensibly long"));
});

test("only what the model may read is looked at", () => {
  expect(guessLength("a ".repeat(1_000_000))).toBe(guessLength("a ".repeat(10_000)));
});
