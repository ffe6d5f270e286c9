import { describe, expect, it } from "vitest";
import { type Convention, conventions, makeCaches, prefixOf } from "./caches.ts";
import type { Item } from "./prompts.ts";

const part = (first: number, length: number) => Int32Array.from({ length }, (_, i) => first + i);
const [system, own, other] = [part(1, 2), part(10, 3), part(20, 4)];
const [one, two, three] = [part(30, 5), part(40, 5), part(50, 5)];

/**
 * The system prompt, a chunk that was first seen behind three others, and one that was first seen
 * before all.
 */
const item: Item = {
  tokens: Int32Array.of(...system, ...own, ...other, 99),
  chunks: [
    { begin: 0, end: 2 },
    { begin: 2, end: 5 },
    { begin: 5, end: 9 },
  ],
  earlier: [
    null,
    { chunks: [system, one, two, three, own], at: 4 },
    { chunks: [system, other, one, two, three], at: 1 },
  ],
  references: [],
};

describe("prefixOf", () => {
  it.each<[Convention, Int32Array[], Int32Array[]]>([
    ["alone", [], []],
    ["system", [system], [system]],
    ["context", [system, two, three], [system, one, two]],
    ["context+system", [system], [system, one, two]],
    ["context-1", [system, three], [system, two]],
    ["seen", [system, one, two, three], [system]],
  ])("is what the chunk stood behind in the earlier prompt: %s", (convention, first, second) => {
    expect(prefixOf(item, 1, convention)).toEqual(first);
    expect(prefixOf(item, 2, convention)).toEqual(second);
  });
});

describe("makeCaches", () => {
  it("takes each chunk from behind its prefix, and calls exact only what stands where it was made", async () => {
    for (const convention of conventions) {
      const prompts: number[][] = [];
      const { blobs, chunks } = await makeCaches(item, convention, ({ tokens, exports = [] }) => {
        prompts.push([...tokens]);
        const made = exports.map(({ begin, end }) => Uint8Array.from(tokens.subarray(begin, end)));
        return Promise.resolve({ blobs: made } as never);
      });
      expect(blobs.map((blob) => [...blob])).toEqual([[...system], [...own], [...other]]);
      // What stands before a chunk is prefilled part by part, each linked to those before it.
      expect(prompts).toContainEqual([...prefixOf(item, 1, convention), own].flatMap((tokens) => [...tokens]));
      // Only behind the system prompt alone does the first chunk stand as in the prompt.
      const first = convention === "system" || convention === "context+system" ? "exact" : "linked";
      const states = ["exact", first, "linked"];
      expect(chunks.map(({ state }) => state)).toEqual(states);
    }
  });
});
