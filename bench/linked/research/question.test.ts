import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitmix64 } from "../../../algorithms/numeric/random.ts";
import type { LlamaScorer } from "../../../connections/llama/scorer.ts";
import type { KnownChunk } from "./plan.ts";
import { withAttention, withFocus } from "./question.ts";

type Scorer = Pick<LlamaScorer, "attention">;

/**
 * Weights a(k, l) of each layer as a function; sums are taken as the native scorer takes them,
 * questions asking alone.
 */
function scorerOf(layers: number, weight: (layer: number, k: number, l: number) => number, asked: number[][] = []) {
  const attention: Scorer["attention"] = ({ tokens, starts }) => {
    asked.push([...starts]);
    const count = starts.length;
    const sums = new Float32Array(layers * count * count);
    const chunkOf = (position: number): number => starts.findLastIndex((start) => start <= position);
    for (let layer = 0; layer < layers; layer++)
      for (let l = starts.at(-1)!; l < tokens.length; l++)
        for (let k = 0; k < l; k++) sums[(layer * count + chunkOf(k)) * count + chunkOf(l)]! += weight(layer, k, l);
    return Promise.resolve({ layers, chunks: count, sums, before: new Float32Array(tokens.length) });
  };
  return { attention };
}

const linked = (...lengths: number[]): KnownChunk[] => lengths.map((length) => ({ length, state: "linked" }));
const promptOf = (length: number) => ({ tokens: new Int32Array(length), links: [] });

describe("focus", () => {
  /**
   * Each chunk has two tokens, the question one; the first chunk takes most of the weight, as it
   * does.
   */
  const chunks = linked(2, 2, 2, 2, 2, 2);
  const looking = (scores: readonly number[]) => scorerOf(4, (_layer, k) => (k < 2 ? 5 : scores[(k >> 1) - 1]! / 2));

  it.each([
    [[0.5, 0.1, 0.09, 0.08, 0.07], [0]],
    [
      [0.08, 0.5, 0.07, 0.48, 0.1],
      [1, 3],
    ],
    [
      [0.5, 0.45, 0.42, 0.1, 0.05],
      [0, 1, 2],
    ],
  ])("is on the chunks behind the first that the question looks at: %j", async (scores, expected) => {
    const found = await withFocus(looking(scores), promptOf(13), chunks, "focus");
    expect(found.map(({ focused }) => focused)).toEqual([true, ...scores.map((_, chunk) => expected.includes(chunk))]);
  });

  it("may be cut at the largest gap", async () => {
    // The first of the gaps .4, .06, .34 is the largest; from the second chunk on, the third raises
    // the entropy most.
    const scores = looking([1, 0.6, 0.54, 0.2, 0.2]);
    const focused = async (cut: "focus" | "gap") =>
      (await withFocus(scores, promptOf(13), chunks, cut)).slice(1).map((chunk) => chunk.focused);
    expect(await focused("gap")).toEqual([true, false, false, false, false]);
    expect(await focused("focus")).toEqual([true, true, false, false, false]);
  });
});

describe("attention of the question on tokens", () => {
  it("is what it is on chunks, however many passes it takes", async () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 150 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(lengths, fc.integer({ min: 1, max: 4 }), fc.nat(), async (drawn, question, seed) => {
        const end = drawn.reduce((sum, length) => sum + length, 0);
        const random = splitmix64(seed);
        const weights = Array.from({ length: 2 * end }, () => random());
        const asked: number[][] = [];
        const scorer = scorerOf(2, (layer, k) => weights[layer * end + k] ?? 0, asked);
        const chunks = await withAttention(scorer, promptOf(end + question), linked(...drawn));
        const found = chunks.flatMap(({ attention }) => Array.from(attention ?? []));
        for (const [k, value] of found.entries())
          expect(value).toBeCloseTo((question * (weights[k]! + weights[end + k]!)) / 2, 4);
        expect(found).toHaveLength(end);
        // Neither more at a time than a pass can give back, nor out of order.
        for (const starts of asked) {
          expect(starts.length).toBeLessThanOrEqual(200);
          expect(starts.every((start, i) => i === 0 || start > starts[i - 1]!)).toBe(true);
        }
      }),
      { numRuns: 40 },
    );
  });
});
