import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createStopMatcher } from "./stop-strings.ts";

function run(pieces: readonly string[], stops: readonly string[]): { text: string; stopped: boolean } {
  const matcher = createStopMatcher(stops);
  const text = pieces.map((piece) => matcher.push(piece)).join("");
  return { text: text + matcher.flush(), stopped: matcher.stopped };
}

describe("stop strings", () => {
  it("end the text wherever they are split, and are not part of it", () => {
    expect(run(["ls -", "l\nfoo"], ["\n"])).toEqual({ text: "ls -l", stopped: true });
    expect(run(["ls EN", "D of"], ["END"])).toEqual({ text: "ls ", stopped: true });
  });

  it("are held back while undecided and given back when it was none", () => {
    const matcher = createStopMatcher(["END"]);
    expect([matcher.push("a E"), matcher.push("N"), matcher.push("t"), matcher.push("E")]).toEqual([
      "a ",
      "",
      "ENt",
      "",
    ]);
    expect(matcher.flush()).toBe("E");
  });

  it("give the same for every way to cut the text, and never anything from the stop on", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b", "c") });
    const stop = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(letters), fc.array(stop, { maxLength: 3 }), (pieces, stops) => {
        const text = pieces.join("");
        const result = run(pieces, stops);
        expect(result).toEqual(run(Array.from(text), stops));
        expect(text.startsWith(result.text)).toBe(true);
        expect(result.stopped).toBe(stops.some((one) => text.includes(one)));
        expect(stops.some((one) => result.text.includes(one))).toBe(false);
      }),
    );
  });
});
