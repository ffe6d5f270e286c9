import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutText, splitText, type Splitter } from "./split.ts";
import { estimateTokens } from "./tokens.ts";

const words = (count: number, word: string): string => Array.from({ length: count }, () => word).join(" ");

describe("splitText", () => {
  it("keeps a text that fits whole, and none of a blank one", () => {
    expect(splitText(" one\n\ntwo ", "meaning", 100)).toEqual(["one\n\ntwo"]);
    expect(splitText(" \n\n ", "meaning", 100)).toEqual([]);
    expect(splitText("", "size", 100)).toEqual([]);
  });

  it("puts as many whole paragraphs into a piece as fit", () => {
    const paragraph = words(10, "four"); // 49 characters, 14 tokens
    const text = [paragraph, paragraph, paragraph].join("\n\n");
    expect(splitText(text, "meaning", 30)).toEqual([`${paragraph}\n\n${paragraph}`, paragraph]);
  });

  it("cuts a paragraph that does not fit at lines, those at sentences, and those at words", () => {
    expect(splitText("one line\nanother line\nthe third", "meaning", 5)).toEqual([
      "one line",
      "another line",
      "the third",
    ]);
    expect(splitText("It is so. Is it so? It is.", "meaning", 6)).toEqual(["It is so. Is it so?", "It is."]);
    expect(splitText("これは。それは。", "meaning", 4)).toEqual(["これは。", "それは。"]);
    expect(splitText(words(6, "word"), "meaning", 3)).toEqual(["word word", "word word", "word word"]);
  });

  it("by size it fills pieces with words, and cuts a word that is longer than a piece", () => {
    expect(splitText("one two\n\nthree four", "size", 3)).toEqual(["one two", "three four"]);
    expect(splitText("x".repeat(16), "size", 2)).toEqual(["xxxxxxx", "xxxxxxx", "xx"]);
  });

  it.each<Splitter>(["meaning", "size"])(
    "by %s loses nothing but white space, and no piece is too large",
    (splitter) => {
      const text = fc.string({ unit: fc.constantFrom("a", "b", ".", " ", "\n", "。", "é", "👍"), maxLength: 200 });
      fc.assert(
        fc.property(text, fc.integer({ min: 2, max: 20 }), (given, most) => {
          const pieces = splitText(given, splitter, most);
          expect(pieces.join("").replace(/\s/g, "")).toBe(given.replace(/\s/g, ""));
          for (const piece of pieces) {
            expect(estimateTokens(piece)).toBeLessThanOrEqual(most);
            expect(piece).toBe(piece.trim());
            expect(piece).not.toBe("");
          }
        }),
      );
    },
  );
});

describe("cutText", () => {
  it("cuts at white space that is near, and elsewhere never within a character", () => {
    expect(cutText("one two three", 8)).toEqual(["one two", "three"]);
    expect(cutText("a bcdefghijk", 8)).toEqual(["a bcdefg", "hijk"]);
    expect(cutText("👍👍👍", 3)).toEqual(["👍", "👍", "👍"]);
    expect(cutText(" \n ", 2)).toEqual([]);
  });

  it("loses nothing but white space, and no piece has more tokens than characters were asked for", () => {
    const text = fc.string({ unit: fc.constantFrom("a", ".", " ", "\n", "。", "👍"), maxLength: 200 });
    fc.assert(
      fc.property(text, fc.integer({ min: 2, max: 20 }), (given, most) => {
        const pieces = cutText(given, most);
        expect(pieces.join("").replace(/\s/g, "")).toBe(given.replace(/\s/g, ""));
        for (const piece of pieces) {
          expect(estimateTokens(piece)).toBeLessThanOrEqual(most);
          expect(piece).toBe(piece.trim());
          expect(piece).not.toBe("");
        }
      }),
    );
  });
});
