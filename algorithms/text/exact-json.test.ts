import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { objectOf, parseExact, rawMembers } from "./exact-json.ts";

const ofAll = (json: string): Record<string, string> => Object.fromEntries(rawMembers(json));

describe("members as they are written", () => {
  it("keep digits, spellings, white space and repeated members within", () => {
    const json = String.raw`{ "a" : 9007199254740993 , "b":[1.0, -0, 1e400, 0.1E1 ,{"x":1,"x":2}],
      "s" : "a\u0040\"}],:{[\\", "\u0074ools":{"q":",:"} , "e":{}, "n":[ ] ,"d":1,"d":0.10 }`;
    expect(ofAll(json)).toEqual({
      a: "9007199254740993",
      b: '[1.0, -0, 1e400, 0.1E1 ,{"x":1,"x":2}]',
      s: String.raw`"a\u0040\"}],:{[\\"`,
      tools: '{"q":",:"}',
      e: "{}",
      n: "[ ]",
      d: "0.10",
    });
    expect(rawMembers(" { } ").size).toBe(0);
    expect([...rawMembers('{"__proto__":{"a":1},"":2}')]).toEqual([
      ["__proto__", '{"a":1}'],
      ["", "2"],
    ]);
  });

  it("make up the same object again, however it is indented", () => {
    const json = fc.tuple(fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue()), fc.nat(3));
    fc.assert(
      fc.property(json, ([value, indent]) => {
        const text = JSON.stringify(value, null, indent);
        expect(JSON.parse(objectOf(rawMembers(text)))).toEqual(JSON.parse(text));
      }),
    );
  });

  it("take linear time and no stack", () => {
    const deep = `${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}`;
    expect(ofAll(`{"a":${deep}}`)["a"]).toHaveLength(2_000_000);
    const slashes = `"${"\\\\".repeat(2_000_000)}${'\\"'.repeat(2_000_000)}"`;
    expect(ofAll(`{"a":${slashes},"b":1}`)["b"]).toBe("1");
  });
});

/** JSON.stringify writes the larger ones with an exponent. */
const digits = (value: unknown): unknown =>
  typeof value === "number" && Math.abs(value) >= 2 ** 53 && Math.abs(value) < 1e21 ? String(value) : value;

describe("parseExact", () => {
  it("has as digits what no double holds, and all else as JSON.parse", () => {
    expect(
      parseExact(
        '{"id":12345678901234567890,"n":[-9007199254740993,9007199254740991,1e400,-1E+999,1e-400,0.1234567890123456789],"s":"12345678901234567890 \\" 9007199254740993"}',
      ),
    ).toEqual({
      id: "12345678901234567890",
      n: ["-9007199254740993", 9007199254740991, "1e400", "-1E+999", 0, 0.12345678901234568],
      s: '12345678901234567890 " 9007199254740993',
    });
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (json) => {
        expect(parseExact(json)).toEqual(JSON.parse(json, (_name, value: unknown) => digits(value)));
      }),
    );
  });

  it("refuses what JSON.parse refuses", () => {
    const wrong = [
      "012345678901234567890",
      "-",
      "12345678901234567890x",
      "1.e400",
      "[1e9999,]",
      '"12345678901234567890',
    ];
    for (const text of [
      ...wrong,
      "+12345678901234567890",
      "12345678901234567890.",
      "1e999e9",
      "--12345678901234567890",
    ])
      expect(() => parseExact(text), text).toThrow(SyntaxError);
  });

  it("takes linear time", () => {
    expect(parseExact("9".repeat(1_000_000))).toHaveLength(1_000_000);
    expect(parseExact(`[${"12345678901234567890,".repeat(400_000)}1]`)).toHaveLength(400_001);
  });
});
