import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalText } from "./canonical.ts";

describe("canonicalText", () => {
  it("collapses white space, composes characters and keeps case", () => {
    expect(canonicalText("  List\tall \n\n files ")).toBe("List all files");
    expect(canonicalText("cafe\u0301")).toBe("caf\u00e9");
    expect(canonicalText("ls -A")).not.toBe(canonicalText("ls -a"));
  });

  it("is the same applied twice", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => canonicalText(canonicalText(text)) === canonicalText(text)),
    );
  });
});
