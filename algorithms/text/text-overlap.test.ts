import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tokenF1 } from "./token-f1.ts";
import { commonTokensOfPairs, coverage, hashTokens, literalsIn, literalsOf, overlapF1 } from "./text-overlap.ts";

// Control characters separate tokens here, and stand alone in token-f1.ts.
const ascii = fc.string({ unit: "grapheme-ascii", maxLength: 120 });

describe("overlap of hashed tokens", () => {
  it("is the exact token F1 on ASCII", () => {
    fc.assert(
      fc.property(ascii, ascii, (one, other) => {
        const [a, b] = [hashTokens(one), hashTokens(other)];
        expect(overlapF1(a, b)).toBeCloseTo(tokenF1(one, other), 12);
        expect(overlapF1(a, b)).toBe(overlapF1(b, a));
      }),
    );
  });

  it("is the same for all pairs at once as for two after two", () => {
    const words = fc.array(fc.constantFrom("a", "b", "c", "-l", "find", "x.txt"), { maxLength: 12 });
    const texts = fc.array(
      fc.oneof(
        ascii,
        words.map((all) => all.join(" ")),
      ),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(texts, (all) => {
        const tokens = all.map(hashTokens);
        const common = commonTokensOfPairs(tokens);
        for (let i = 0; i < all.length; i++)
          for (let j = 0; j < i; j++)
            expect(overlapF1(tokens[i]!, tokens[j]!, common[i * all.length + j])).toBe(
              overlapF1(tokens[i]!, tokens[j]!),
            );
      }),
    );
  });

  it("covers a part by the whole, and counts repeats", () => {
    expect(coverage(hashTokens("ls -l"), hashTokens("sudo ls -l /tmp"))).toBe(1);
    expect(coverage(hashTokens("a a"), hashTokens("A b"))).toBe(0.5);
    expect(coverage(hashTokens(""), hashTokens("a"))).toBe(0);
    expect(hashTokens("Find . -name x").first).toBe(hashTokens("find / -type f").first);
  });

  it("looks at no more than the head of a huge text", () => {
    expect(hashTokens("word ".repeat(1_000_000)).sorted.length).toBeLessThanOrEqual(256);
  });
});

describe("literals", () => {
  it("are what an answer must repeat", () => {
    expect(
      literalsOf("Find \"*.jpg\" and 'a b' below /var/log/app.1, newer than 30 days, into out.txt with $HOME."),
    ).toEqual(["*.jpg", "a b", "/var/log/app.1", "30", "out.txt", "$HOME"]);
    expect(literalsOf("list all files")).toEqual([]);
  });

  it("are looked up as they stand", () => {
    expect(literalsIn(["/tmp", "30"], "find /tmp -mtime +30")).toBe(1);
    expect(literalsIn(["/tmp", "Foo"], "find /tmp -name foo")).toBe(0.5);
    expect(literalsIn([], "anything")).toBe(0);
  });

  it("stay few for any text", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 3_000 }), (text) => {
        expect(literalsOf(text).length).toBeLessThanOrEqual(16);
      }),
    );
    expect(literalsOf("-".repeat(100_000)).length).toBeLessThanOrEqual(16);
  });
});
