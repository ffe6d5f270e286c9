import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Conversation, createPrefixCache } from "./prefix-cache.ts";

const blobOf = (text: string): Uint8Array => Buffer.from(text);

describe("prefix cache", () => {
  it("finds the longest beginning that is kept, made in the same way", () => {
    const cache = createPrefixCache(1_000);
    const first: Conversation = { tokens: Int32Array.of(1, 2, 3, 9), turnEnds: [3] };
    const second: Conversation = { tokens: Int32Array.of(1, 2, 3, 4, 5, 6, 9), turnEnds: [3, 5, 6] };
    expect(cache.longest(first, "full")).toBeNull();
    cache.keep(first, "full", { blob: blobOf("one"), end: 3 });
    expect(cache.longest(second, "full")).toEqual({ blob: blobOf("one"), end: 3 });
    cache.keep(second, "full", { blob: blobOf("two"), end: 6 });
    expect(cache.longest(second, "full")).toEqual({ blob: blobOf("two"), end: 6 });
    expect(cache.longest(second, "naive")).toBeNull();
    expect(cache.longest({ tokens: Int32Array.of(1, 2, 4, 9), turnEnds: [3] }, "full")).toBeNull();
    expect(cache.longest({ ...first, turnEnds: [] }, "full")).toBeNull();
  });

  it("keeps no more than its bytes, and of those what was used last", () => {
    const cache = createPrefixCache(6);
    const prompts = [1, 2, 3].map((token): Conversation => ({ tokens: Int32Array.of(token, 0), turnEnds: [1] }));
    cache.keep(prompts[0]!, "full", { blob: blobOf("aaa"), end: 1 });
    cache.keep(prompts[1]!, "full", { blob: blobOf("bbb"), end: 1 });
    expect(cache.longest(prompts[0]!, "full")).not.toBeNull();
    cache.keep(prompts[2]!, "full", { blob: blobOf("ccc"), end: 1 });
    expect(prompts.map((prompt) => cache.longest(prompt, "full") !== null)).toEqual([true, false, true]);
    cache.keep(prompts[1]!, "full", { blob: blobOf("too large"), end: 1 });
    expect(cache.longest(prompts[1]!, "full")).toBeNull();
  });

  it("forgets beginnings that hold a chunk which is forgotten", () => {
    const cache = createPrefixCache(100);
    const prompts = [1, 2].map((token): Conversation => ({
      ...{ tokens: Int32Array.of(token, 0), turnEnds: [1] },
      chunks: [{ chunk: "system" }, { chunk: String(token) }],
    }));
    for (const prompt of prompts) cache.keep(prompt, "full", { blob: blobOf("a"), end: 1 });
    cache.forget(new Set(["1", "3"]));
    expect(prompts.map((prompt) => cache.longest(prompt, "full") !== null)).toEqual([false, true]);
  });

  it("never takes a beginning for one with other tokens or other turns", () => {
    const conversation = fc
      .array(fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 })
      .map((turns): Conversation => {
        let end = 0;
        return { tokens: Int32Array.from([...turns.flat(), 9]), turnEnds: turns.map((turn) => (end += turn.length)) };
      });
    fc.assert(
      fc.property(fc.array(conversation, { maxLength: 12 }), conversation, (kept, asked) => {
        const cache = createPrefixCache(100_000);
        for (const prompt of kept) {
          const end = prompt.turnEnds.at(-1)!;
          cache.keep(prompt, "full", { blob: Buffer.from(prompt.tokens.subarray(0, end)), end });
        }
        const begins = kept
          .map(({ tokens, turnEnds }) => [...tokens.subarray(0, turnEnds.at(-1))])
          .filter((begin) => asked.turnEnds.includes(begin.length) && begin.every((one, i) => one === asked.tokens[i]));
        const longest = Math.max(0, ...begins.map(({ length }) => length));
        const found = cache.longest(asked, "full");
        expect(found?.end ?? 0).toBe(longest);
        if (found !== null) expect([...found.blob]).toEqual([...asked.tokens.subarray(0, longest)]);
      }),
    );
  });
});
