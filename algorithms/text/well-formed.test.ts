import fc from "fast-check";
import { expect, it } from "vitest";
import { wellFormedJson, wellFormedPieces } from "./well-formed.ts";

/** Any UTF-16 units, many of them halves of pairs. */
const units = fc
  .array(fc.oneof(fc.constantFrom(0xd83d, 0xde00, 0xd800, 0xdfff, 0, 0x2028, 0x41), fc.nat(0xffff)), { maxLength: 30 })
  .map((codes) => String.fromCharCode(...codes));

it("pieces make the well-formed text wherever it is cut, and none has half a pair", () => {
  fc.assert(
    fc.property(units, fc.array(fc.nat(30), { maxLength: 6 }), (text, cuts) => {
      const at = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((one, other) => one - other), text.length];
      const pass = wellFormedPieces();
      const pieces = at.slice(1).map((end, index) => pass(text.slice(at[index], end)));
      pieces.push(pass("", true));
      expect(pieces.join("")).toBe(text.toWellFormed());
      expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

it("gives all but a first half at once", () => {
  const pass = wellFormedPieces();
  expect([
    pass("A\ud83d"),
    pass(""),
    pass("\ude00B"),
    pass("\ude00"),
    pass("\ud83d"),
    pass("x"),
    pass("", true),
  ]).toEqual(["A", "", "😀B", "\ufffd", "", "\ufffdx", ""]);
});

it("JSON has U+FFFD for half a pair, and every other text as it is", () => {
  fc.assert(
    fc.property(units, fc.constantFrom("", "\\ud83d", '"\\'), (text, more) => {
      const json = wellFormedJson({ list: [text + more, 1, null] });
      expect(JSON.parse(json)).toEqual({ list: [(text + more).toWellFormed(), 1, null] });
      expect(Buffer.from(json).toString()).toBe(json);
    }),
  );
});
