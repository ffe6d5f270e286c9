import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LinkPolicy } from "../../algorithms/linked-prefill/link-policy.ts";
import { aStore, format } from "../../connections/kv/values.testing.ts";
import { llamaIsBuilt, openTiny, type Opened } from "../../connections/llama/models.testing.ts";
import { openScorer } from "../../connections/llama/scorer.ts";
import { createImpactScorer, impactOf, mostScoredTokens } from "./impact.ts";
import { createCacheMaker } from "./make.ts";
import { createLinkedModel } from "./model.ts";

it("reads the last chunk's part of the scores", () => {
  // Two layers, three chunks of 2, 2 and 3 tokens: [from, to] of each layer, from row to column.
  const layer = (first: number, second: number, own: number) => [0, 0, first, 0, 0, second, 0, 0, own];
  const sums = Float32Array.from([...layer(0.5, 0.25, 0.5), ...layer(0.25, 0.75, 0.5)]);
  const before = Float32Array.from([0, 0, 0, 0, 0.125, 0.5, 0.25]);
  const { cci, inter, ranking } = impactOf({ layers: 2, chunks: 3, sums, before }, [2, 2], 4);
  expect(inter).toEqual([0.375, 0.5]);
  expect(ranking).toEqual([1, 2, 0]);
  expect(cci).toBeCloseTo(1 / (1 + Math.exp(-(1.75 / 6) / (1 / 9))), 9);
});

it("opens its context for the first cache, and does not score what is too long", async () => {
  let opened = 0;
  const scorer = createImpactScorer(() => {
    opened++;
    return Promise.reject(new Error("no memory"));
  });
  const tokens = new Int32Array(mostScoredTokens + 1);
  expect(await scorer.score(tokens, [1], new Uint8Array())).toBeUndefined();
  expect(opened).toBe(0);
  await expect(scorer.score(new Int32Array(9), [1], new Uint8Array())).rejects.toThrow("no memory");
  await scorer.close();
});

describe.skipIf(!llamaIsBuilt)("on a model (npm run setup builds the addon)", () => {
  let tiny: Opened;
  beforeAll(async () => {
    tiny = await openTiny({ contextTokens: 1_024, kvType: "f16" });
  });
  afterAll(() => tiny?.close());

  it("craft recomputes by the scores of caches of passages, made in idle time", async () => {
    const { context, model: opened } = tiny;
    const store = await aStore({ memoryBytes: 50_000_000 });
    const scorer = createImpactScorer(() => openScorer(opened, { contextTokens: 1_024 }));
    const common = { context, store, format, convention: "context" } as const;
    const model = createLinkedModel(common);
    const maker = createCacheMaker({ ...common, scorer });
    const promptOf = (...texts: string[]) => {
      const parts = ["You answer. ", ...texts].map((text) => opened.tokenize(text));
      let end = 0;
      const chunks = parts.map(({ length }, index) => {
        const begin = end;
        end += length;
        return { kind: "document" as const, id: String(index), configured: index === 0, begin, end };
      });
      const question = opened.tokenize("What does it say?");
      const tokens = Int32Array.from([...parts, question].flatMap((part) => [...part]));
      return model.keyed({ tokens, chunks, turnEnds: [] }, "acme/default");
    };
    const passage = (word: string): string => `${word} is what this passage is about. `.repeat(8);
    const [one, two] = [passage("Water"), passage("Stone")];
    const { signal } = new AbortController();
    for (const wanted of maker.wanted(promptOf(one, two))) await maker.make(wanted, signal);
    const short = promptOf(one, "brief. ");
    for (const wanted of maker.wanted(short)) await maker.make(wanted, signal);
    const scored = store.list().filter(({ impact }) => impact !== undefined);
    // Each passage behind its neighbour and behind the system prompt; nothing else.
    expect(scored.map(({ convention }) => convention).sort()).toEqual(["context", "context", "system", "system"]);
    for (const { tokens, prefix, impact } of scored) {
      expect(impact!.ranking).toHaveLength(tokens);
      expect(impact!.inter).toHaveLength(prefix.length);
      expect(impact!.cci).toBeGreaterThan(0.5);
    }
    const prompt = promptOf(two, "Something new stands between them. ", one);
    const recomputedBy = async (kind: LinkPolicy["kind"], amount: number): Promise<number> => {
      const ending = { signal, onProgress: () => undefined, keep: true };
      return (await model.answer(prompt, { kind, amount, last: 0 }, { maxTokens: 2 }, ending)).recomputed;
    };
    await recomputedBy("naive", 0);
    const length = prompt.chunks[3]!.tokens;
    const some = await recomputedBy("craft", 0.4);
    // The first passage stands where it stood; all but this share of the second one is linked.
    expect(some).toBeGreaterThan(0);
    expect(some).toBeLessThan(0.6 * length);
    expect(await recomputedBy("craft", 0.8)).toBeGreaterThan(some);
    await scorer.close();
  });
});
