import fc from "fast-check";
import pc from "picocolors";
import { expect, it } from "vitest";
import { printable } from "./printable.ts";

it("shows what a terminal would act on", () => {
  expect(printable("a\u001b]0;title\u0007b\u001b[2Jc\u009b8m\u0000\u007f")).toBe(
    "a\\u001b]0;title\\u0007b\\u001b[2Jc\\u009b8m\\u0000\\u007f",
  );
  expect(printable("\u001b[8mhidden\u001b[38;5;0mdark\u001b[7m")).not.toContain("\u001b");
  expect(printable("admin\u202etxt.exe\u2066")).toBe("admin\\u202etxt.exe\\u2066");
  expect(printable("revoked\rvalid")).toBe("revoked\\u000dvalid");
});

it("keeps lines, tabs, colours and every letter", () => {
  const { red, bold, dim, green, yellow } = pc.createColors(true);
  for (const text of ["a\tb\n", "\r20 of 40", "a\r\nb", bold(red("x")), dim(green(yellow("y"))), "é 日本 🙂"])
    expect(printable(text)).toBe(text);
});

it("changes no value of JSON", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const json = JSON.stringify({ text }, null, 2);
      expect(JSON.parse(printable(json))).toEqual({ text });
    }),
  );
});
