import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { conventions } from "../../connections/kv/port.ts";
import { contextChunks, contextTokens, firstContext, wantedPrefixes } from "./context.ts";
import { neededForScores } from "./impact.ts";
import { longTokens } from "../../algorithms/linked-prefill/link-policy.ts";

const of = (...tokens: number[]) => tokens.map((one) => ({ tokens: one }));

describe("firstContext", () => {
  it("is what stood nearest before the chunk, in its order", () => {
    expect(firstContext(of(20, 40, 40, 40, 40, 40, 40), 6)).toEqual([4, 5]);
  });

  it("takes what follows where too little stood before", () => {
    const chunks = of(20, 40, 40, 40, 40, 40, 40);
    expect(firstContext(chunks, 1)).toEqual([2, 3]);
    expect(firstContext(chunks, 2)).toEqual([3, 1]);
  });

  it("takes one where two are too long together", () => {
    expect(firstContext(of(20, 210, 210, 210, 210), 4)).toEqual([2, 3]);
    expect(firstContext(of(20, 210, 310, 210, 210), 4)).toEqual([3]);
    expect(firstContext(of(20, 600, 600, 10, 600), 2)).toEqual([1]);
    expect(firstContext(of(20, 10, 600, 10), 3)).toEqual([2]);
  });

  it("is empty where the chunk stood alone behind the system prompt", () => {
    expect(firstContext(of(20, 40), 1)).toEqual([]);
  });

  it("never holds the chunk, the system prompt or anything twice, and keeps its bounds", () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 2, maxLength: 12 });
    fc.assert(
      fc.property(lengths, fc.nat(), (tokens, at) => {
        const chunks = of(...tokens);
        const index = 1 + (at % (chunks.length - 1));
        const found = firstContext(chunks, index);
        expect(new Set([...found, 0, index]).size).toBe(found.length + 2);
        expect(found.length > 0).toBe(chunks.length > 2);
        expect(found.length).toBeLessThanOrEqual(contextChunks);
        if (found.length > 1)
          expect(found.reduce((sum, one) => sum + tokens[one]!, 0)).toBeLessThanOrEqual(contextTokens);
        // The nearest stands last.
        if (index > 1) expect(found.at(-1)).toBe(index - 1);
      }),
    );
  });
});

describe("wantedPrefixes", () => {
  it("takes what stands before a chunk alone where prompts are chained, so that one prefill passes all", () => {
    const shown = of(20, 40, 50, 60, longTokens);
    const chained = [1, 2, 3, 4].map((index) => wantedPrefixes(shown, index, "context", true));
    expect(chained).toEqual([
      [{ convention: "system", prefix: [0] }],
      [{ convention: "context", prefix: [0, 1] }],
      [{ convention: "context", prefix: [0, 1, 2] }],
      [
        { convention: "context", prefix: [0, 2, 3] },
        { convention: "system", prefix: [0] },
      ],
    ]);
  });

  const chunks = of(20, 40, longTokens - 1, longTokens);

  it("are of the convention, and of context for long chunks also the place behind the system prompt", () => {
    expect(wantedPrefixes(chunks, 3, "alone")).toEqual([{ convention: "alone", prefix: [] }]);
    expect(wantedPrefixes(chunks, 3, "system")).toEqual([{ convention: "system", prefix: [0] }]);
    expect(wantedPrefixes(chunks, 3, "context")).toEqual([
      { convention: "context", prefix: [0, 1, 2] },
      { convention: "system", prefix: [0] },
    ]);
    expect(wantedPrefixes(chunks, 2, "context")).toEqual([{ convention: "context", prefix: [0, 3, 1] }]);
    expect(wantedPrefixes(of(20, longTokens), 1, "context")).toEqual([{ convention: "system", prefix: [0] }]);
    expect(wantedPrefixes(of(20, 40), 1, "context")).toEqual([]);
  });

  it("are none for the system prompt, and where caches come from the prefills themselves", () => {
    for (const convention of ["alone", "system", "context"] as const)
      expect(wantedPrefixes(chunks, 0, convention)).toEqual([]);
    for (const convention of ["seen", "linked"] as const) expect(wantedPrefixes(chunks, 2, convention)).toEqual([]);
  });
});

it.each(conventions)("scores where idle time makes caches behind a prefix: %s", (convention) => {
  const wanted = wantedPrefixes(of(20, longTokens, longTokens), 2, convention);
  const needed = neededForScores({ kvType: "f16", isOnCpu: true, convention, isScattered: true });
  expect(needed === null).toBe(wanted.some(({ prefix }) => prefix.length > 0));
});
