import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { longTokens, type LinkPolicy } from "../../algorithms/linked-prefill/link-policy.ts";
import { chunkKey } from "../../connections/kv/keys.ts";
import { aStore, format } from "../../connections/kv/values.testing.ts";
import { llamaIsBuilt, openTiny, type Opened } from "../../connections/llama/models.testing.ts";
import { LlamaError, type LlamaErrorCode } from "../../connections/llama/port.ts";
import { type LlamaScorer, openScorer } from "../../connections/llama/scorer.ts";
import { createTestingContext } from "./context.testing.ts";
import { createImpactScorer, impactOf, mostFailures, mostScoredTokens, scoredRanges } from "./impact.ts";
import { createCacheMaker } from "./make.ts";
import { createLinkedModel } from "./model.ts";
import type { KeyedPrompt } from "./plans.ts";

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

const log = { warn: vi.fn() };
const { signal } = new AbortController();
const scores = { layers: 1, chunks: 2, sums: Float32Array.of(0, 0.5, 0, 0.5), before: Float32Array.of(0, 0.25, 0.5) };
const behind = [new Uint8Array()];

it("opens its context for the first cache, and again after a failure; leaves what is too long", async () => {
  let opened = 0;
  const closed = vi.fn();
  const scorer = createImpactScorer(() => {
    opened++;
    if (opened === 1) return Promise.reject(new LlamaError("context_failed", "no memory"));
    return Promise.resolve({ attention: () => Promise.resolve(scores), close: () => Promise.resolve(closed()) });
  }, log);
  expect([mostScoredTokens, mostScoredTokens + 1].map((tokens) => scorer.mayScore("a", tokens))).toEqual([true, false]);
  const score = () => scorer.score({ id: "a", tokens: new Int32Array(3), prefix: [1], caches: behind }, signal);
  expect(opened).toBe(0);
  expect(await score()).toBeUndefined();
  expect(await score()).toMatchObject({ ranking: [1, 0] });
  expect(await score()).toMatchObject({ inter: [0.5] });
  expect(opened).toBe(2);
  await scorer.close();
  expect(closed).toHaveBeenCalledOnce();
});

it("scores a part after the other, and begins none after it is cancelled", async () => {
  const [begin, end] = [10, 10 + 300];
  expect(scoredRanges(begin, end)).toEqual([
    { begin: 0, end: begin },
    { begin, end: begin + 128 },
    { begin: begin + 128, end: begin + 256 },
  ]);
  const asked: [tokens: number, links: number[]][] = [];
  const ending = new AbortController();
  const attention: LlamaScorer["attention"] = ({ tokens, links = [] }) => {
    asked.push([tokens.length, links.map(({ position }) => position)]);
    if (asked.length === 5) ending.abort();
    return Promise.resolve({ ...scores, before: new Float32Array(tokens.length).fill(1, asked.at(-1)![1].at(-1)) });
  };
  const scorer = createImpactScorer(() => Promise.resolve({ attention, close: () => Promise.resolve() }), log);
  const caches = scoredRanges(begin, end).map(() => behind[0]!);
  const score = () => scorer.score({ id: "a", tokens: new Int32Array(end), prefix: [begin], caches }, ending.signal);
  expect(await score()).toMatchObject({ inter: [3 * 0.5] });
  const parts = [
    [begin + 128, [0]],
    [begin + 256, [0, begin]],
    [end, [0, begin, begin + 128]],
  ];
  expect(asked).toEqual(parts);
  await expect(score()).rejects.toMatchObject({ code: "cancelled" });
  expect(asked).toEqual([...parts, ...parts.slice(0, 2)]);
});

/** Caches that the convention system wants of two passages; the model fails with `code`. */
async function madeByFailing(code: { now: LlamaErrorCode | null }) {
  const warn = vi.fn();
  const attention: LlamaScorer["attention"] = ({ tokens }) =>
    code.now === null
      ? Promise.resolve({ ...scores, before: new Float32Array(tokens.length) })
      : Promise.reject(new LlamaError(code.now, "no"));
  const close = () => Promise.resolve();
  const scorer = createImpactScorer(() => Promise.resolve({ attention, close }), { warn });
  const store = await aStore({ memoryBytes: 1_000_000 });
  const context = createTestingContext();
  const maker = createCacheMaker({ context, store, format, convention: "system", scorer });
  const tokens = Int32Array.from({ length: 3 + 2 * longTokens }, (_, index) => index);
  const chunks = [0, 3, 3 + longTokens].map((begin, index) => ({
    ...{ chunk: chunkKey(format, "acme/default", [index]), begin, tokens: index === 0 ? 3 : longTokens },
  }));
  const passages = () => maker.wanted({ tokens, chunks }).filter(({ prefix }) => prefix.length > 0);
  return { warn, store, maker, passages, context };
}

it("keeps a cache without a score when the model fails, or a request ends the work", async () => {
  const code: { now: LlamaErrorCode } = { now: "decode_failed" };
  const { warn, store, maker, passages } = await madeByFailing(code);
  const [first, second] = passages();
  for (const passage of [first!, second!]) await maker.make([passage], signal);
  expect(store.list().map(({ impact }) => impact)).toEqual([undefined, undefined]);
  expect(warn).toHaveBeenCalledOnce();
  code.now = "cancelled";
  await store.forget(new Set([first!.chunk.chunk]));
  await expect(maker.make([first!], signal)).rejects.toMatchObject({ code: "cancelled" });
  expect(store.list()).toHaveLength(2);
  expect(passages()).toHaveLength(2);
});

it("makes the scored cache in place of one without a score, and computes nothing again", async () => {
  const code: { now: LlamaErrorCode | null } = { now: "cancelled" };
  const { store, maker, passages, context } = await madeByFailing(code);
  for (const passage of passages())
    await expect(maker.make([passage], signal)).rejects.toMatchObject({ code: "cancelled" });
  code.now = null;
  expect(passages()).toHaveLength(2);
  const unscored = new Map(store.list().map(({ key }) => [key, store.get(key)]));
  // The system prompt, which has no cache here, and the scores.
  for (const passage of passages()) expect((await maker.make([passage], signal)).tokens).toBe(3 + longTokens);
  for (const [key, blob] of unscored) expect(await store.get(key)).toEqual(await blob);
  for (const { rows, prompt } of context.runs) expect(rows).toEqual(context.reference(prompt.tokens));
  expect(store.list().map(({ impact }) => impact?.ranking.length)).toEqual([longTokens, longTokens]);
  expect(passages()).toEqual([]);
});

it("leaves a passage alone whose scoring fails again and again, and says so once", async () => {
  const { warn, store, maker, passages } = await madeByFailing({ now: "decode_failed" });
  for (let tries = 1; tries <= mostFailures; tries++) {
    expect(passages()).toHaveLength(2);
    for (const passage of passages()) await maker.make([passage], signal);
  }
  expect(passages()).toEqual([]);
  expect(store.list()).toHaveLength(2);
  expect(warn.mock.calls.map(([, message]) => String(message).split(": ")[1])).toEqual([
    "it is tried again when idle",
    "it is not tried again",
  ]);
});

describe.skipIf(!llamaIsBuilt)("on a model (npm run setup builds the addon)", () => {
  let tiny: Opened;
  beforeAll(async () => {
    tiny = await openTiny({ contextTokens: 1_024, kvType: "f16" });
  });
  afterAll(() => tiny?.close());

  it("finds in parts what it finds at once", async () => {
    const { context, model: opened } = tiny;
    const tokens = opened.tokenize("Water is what this passage is about, and stone. ".repeat(12)).subarray(0, 420);
    const begin = 60;
    const scorer = await openScorer(opened, { contextTokens: 512 });
    const lengths = [20, 40];
    const exports = scoredRanges(begin, tokens.length);
    const { blobs } = await context.run({ tokens, exports });
    const links = [{ blob: blobs[0]!, position: 0 }];
    const whole = impactOf(await scorer.attention({ tokens, links, starts: [0, 20, begin] }), lengths, begin);
    const impacts = createImpactScorer(() => Promise.resolve(scorer), log);
    const found = (await impacts.score({ id: "a", tokens, prefix: lengths, caches: blobs }, signal))!;
    expect(exports.length).toBeGreaterThan(2);
    expect(found.cci).toBeCloseTo(whole.cci, 3);
    for (const [index, inter] of found.inter.entries()) expect(inter / whole.inter[index]! - 1).toBeCloseTo(0, 2);
    const most = (ranking: readonly number[]) => new Set(ranking.slice(0, 50));
    const common = [...most(found.ranking)].filter((token) => most(whole.ranking).has(token));
    expect(common.length).toBeGreaterThan(45);
    await impacts.close();
  });

  it("craft recomputes by the scores of caches of passages, made in idle time", async () => {
    const { context, model: opened } = tiny;
    const store = await aStore({ memoryBytes: 50_000_000 });
    const scorer = createImpactScorer(() => openScorer(opened, { contextTokens: 1_024 }), log);
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
    const makeAll = async (prompt: KeyedPrompt): Promise<void> => {
      while ((await maker.make(maker.wanted(prompt), signal)).done.length > 0);
    };
    await makeAll(promptOf(one, two));
    await makeAll(promptOf(one, "brief. "));
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
