import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PlannedChunk, tokensIn } from "../../../algorithms/link-plan.ts";
import { parsePolicy } from "../../../algorithms/link-policy.ts";
import { splitmix64 } from "../../../algorithms/random.ts";
import { variantKey } from "../../../connections/kv/keys.ts";
import { aStore, format } from "../../../connections/kv/values.testing.ts";
import type { LlamaContext, LlamaModel, LlamaScorer } from "../../../connections/llama/port.ts";
import { llamaIsBuilt, openTiny, type Opened } from "../../../connections/llama/models.testing.ts";
import { withAttention, withFocus } from "./question.ts";
import { createLinkPlans } from "../plans.ts";
import { createLinkedModel } from "../model.ts";

type Scorer = Pick<LlamaScorer, "attention">;
type AttentionSpy = (real: Scorer) => Scorer;

/** Weights a(k, l) of each layer as a function; sums are taken as the native scorer takes them, questions asking alone. */
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

const linked = (...lengths: number[]): PlannedChunk[] => lengths.map((length) => ({ length, state: "linked" }));
const promptOf = (length: number) => ({ tokens: new Int32Array(length), links: [] });

describe("focus", () => {
  /** Each chunk has two tokens, the question one; the first chunk takes most of the weight, as it does. */
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
    // Of the gaps .4, .06, .34 the first is the largest; the entropy grows most with the third, from the second chunk on.
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

describe.skipIf(!llamaIsBuilt)("on a model (npm run setup builds the addon)", () => {
  let tiny: Opened;
  let model: LlamaModel;
  let context: LlamaContext;
  let scorer: LlamaScorer;
  beforeAll(async () => {
    const both = { contextTokens: 512, kvType: "f16" } as const;
    tiny = await openTiny(both, both);
    ({ model, context, scorer } = tiny);
  });
  afterAll(() => tiny?.close());

  const texts = ["You answer. ", "One piece of text. ", "Another, longer piece of text. ", "And a third one. "];
  const question = "What does the third one say?";

  /** Plans over caches of the chunks alone, all scored; `order` of the chunks in the prompt. */
  async function planned(order: readonly number[], asked?: AttentionSpy) {
    const store = await aStore({ memoryBytes: 10_000_000 });
    const parts = texts.map((text) => model.tokenize(text));
    for (const [index, tokens] of parts.entries()) {
      const { blobs } = await context.run({ tokens, exports: [{ begin: 0, end: tokens.length }] });
      const what = { chunk: `${index}`, convention: "alone" as const, prefix: [] };
      const key = variantKey(format, what);
      await store.put({ ...what, key, tokens: tokens.length }, blobs[0]!);
      const ranking = Array.from(tokens, (_, token) => token);
      await store.describe(key, { cci: 0.5, inter: [], ranking });
    }
    const used: Scorer = asked === undefined ? scorer : asked(scorer);
    const common = { store, convention: "alone" as const, random: splitmix64(1), scorer: used };
    const plans = createLinkPlans(common);
    const serving = createLinkedModel({ ...common, context, format });
    let begin = 0;
    const chunks = order.map((part) => {
      const { length: tokens } = parts[part] ?? model.tokenize("What nobody has seen. ");
      begin += tokens;
      return { chunk: `${part}`, begin: begin - tokens, tokens };
    });
    const tokens = Int32Array.from(
      [...order.map((part) => texts[part] ?? "What nobody has seen. "), question].flatMap((text) => [
        ...model.tokenize(text),
      ]),
    );
    return async (name: string) => {
      const policy = parsePolicy(name);
      if ("problem" in policy) throw new Error(policy.problem);
      const plan = await plans.load({ tokens, chunks }, policy);
      const inRun = (position: number): boolean => plan.runs.some(([a, b]) => position >= a && position < b);
      const share = chunks.map(
        ({ begin: first, tokens: length }) => Array.from({ length }, (_, i) => first + i).filter(inRun).length / length,
      );
      const links = plan.chosen.map(({ chunk }, i) => ({ blob: plan.blobs[i]!, position: chunk.begin }));
      const ending = { signal: new AbortController().signal, onProgress: () => undefined };
      const answer = () => serving.answer({ tokens, chunks, turnEnds: [] }, policy, { maxTokens: 2 }, ending);
      return { share, tokens, links, chunks, runs: plan.runs, answer };
    };
  }

  it("recomputes in the focused chunks as craft does, and nothing elsewhere", async () => {
    const plan = await planned([0, 1, 2, 3]);
    const all = (await plan("craft-1")).share;
    const { share, tokens, links, chunks } = await plan("craft-1+focus");
    const lengths = chunks.map(({ tokens: length }): PlannedChunk => ({ length, state: "linked" }));
    const focused = (await withFocus(scorer, { tokens, links }, lengths, "focus")).map((chunk) => chunk.focused);
    expect(all[0]).toBe(0);
    expect(Math.min(...all.slice(1))).toBeGreaterThan(0);
    expect(share).toEqual(all.map((value, chunk) => (focused[chunk] === true ? value : 0)));
    // Three chunks and gaps: at most one of them.
    expect(focused.filter(Boolean)).toHaveLength(2);
    expect((await plan("last-1+craft-1+gap")).share[3]).toBe(1);
  });

  it.each(["craft-1+focus", "attended-30", "last-1+craft-0.5+gap"])(
    "answers under %s as it was planned",
    async (name) => {
      const { answer, runs, tokens } = await (await planned([0, 2, 1, 3]))(name);
      const { linked: reused, recomputed, prefilled, result } = await answer();
      expect(recomputed).toBe(tokensIn(runs));
      expect(recomputed).toBeGreaterThan(0);
      expect(prefilled).toBe(model.tokenize(question).length);
      expect(reused).toBe(tokens.length - recomputed - prefilled);
      expect(result.generated.length).toBeGreaterThan(0);
    },
  );

  it("recomputes the most attended tokens of each chunk, the first of which is exact", async () => {
    const plan = await planned([0, 2, 1]);
    const { share } = await plan("attended-50");
    expect(share[0]).toBe(0);
    for (const of of share.slice(1)) expect(of).toBeCloseTo(0.5, 0);
  });

  it("does not ask over what is missing: all are in focus", async () => {
    const asked: unknown[] = [];
    const spy: AttentionSpy = (real) => ({
      attention: (what) => {
        asked.push(what);
        return real.attention(what);
      },
    });
    const plan = await planned([0, 1, 9, 3], spy);
    const { share } = await plan("craft-1+focus");
    expect(share[2]).toBe(1);
    expect(Math.min(...share.slice(1))).toBeGreaterThan(0);
    expect(asked).toEqual([]);
  });
});
