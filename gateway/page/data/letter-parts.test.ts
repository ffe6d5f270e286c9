import { describe, expect, it } from "vitest";
import { headersOf, textOf } from "./letter-parts.ts";

const base64 = (bytes: string | number[]): string => Buffer.from(bytes as string).toString("base64");

describe("bytes of a dead letter", () => {
  it("are text where they are UTF-8, and base64 elsewhere", () => {
    expect(textOf(null)).toBeNull();
    expect(textOf(base64("Grüße\n\t🙂"))).toEqual({ text: "Grüße\n\t🙂", isBase64: false, bytes: 13 });
    expect(textOf("")).toEqual({ text: "", isBase64: false, bytes: 0 });
    for (const bytes of [[0, 0, 0, 0, 7, 65], [0xff, 0xfe], [0xc3], [27, 91, 50, 74]])
      expect(textOf(base64(bytes))).toEqual({ text: base64(bytes), isBase64: true, bytes: bytes.length });
  });
  it("that are cut within a character are text, and leave nothing to the next one", () => {
    const cut = Buffer.from("aé").subarray(0, 2).toString("base64");
    expect(textOf(cut, 9)).toEqual({ text: "a", isBase64: false, bytes: 9 });
    expect(textOf(base64("b"))).toEqual({ text: "b", isBase64: false, bytes: 1 });
  });
});

describe("headers that are sent again", () => {
  const [one, two] = [Buffer.from("1"), Buffer.from("2")];
  it("are exactly those, repeated ones and odd names included", () => {
    expect(headersOf([])).toEqual({});
    expect(headersOf([["a", one], ["a", two], ["b", Buffer.alloc(0)]])).toEqual({ a: [one, two], b: [Buffer.alloc(0)] }); // prettier-ignore
    expect(Object.keys(headersOf([["__proto__", one], ["constructor", two]]) ?? {})).toEqual(["__proto__", "constructor"]); // prettier-ignore
  });
  it("are refused where the client would write others", () => {
    expect(headersOf([["a", null]])).toBeNull();
    expect(headersOf([["a", one], ["b", one], ["a", two]])).toBeNull(); // prettier-ignore
    expect(headersOf([["b", one], ["7", two]])).toBeNull(); // prettier-ignore
  });
});
