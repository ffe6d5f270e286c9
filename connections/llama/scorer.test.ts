// Attention sums and deviations, on a tiny generated model: known by arithmetic, or by asking in
// two ways.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { OpenedModel } from "./model.ts";
import { llamaIsBuilt, openTiny, type Opened } from "./models.testing.ts";
import type { LlamaContext } from "./port.ts";
import { openScorer, type AttentionScores, type LlamaScorer } from "./scorer.ts";

describe.skipIf(!llamaIsBuilt)("scorer of the llama addon (npm run setup builds it)", () => {
  let tiny: Opened;
  let model: OpenedModel;
  let context: LlamaContext;
  let scorer: LlamaScorer;
  beforeAll(async () => {
    const kvType = "f32";
    tiny = await openTiny({ contextTokens: 256, kvType });
    ({ model, context } = tiny);
    scorer = await openScorer(model, { contextTokens: 256, kvType, batchTokens: 16 });
  });
  afterAll(async () => {
    await scorer?.close();
    await tiny?.close();
  });

  it("refuses models without links", async () => {
    for (const shape of ["tiny-window", "tiny-mrope", "tiny-positions", "tiny-recurrent"] as const) {
      const unlinkable = await tiny.models.open(shape);
      const opening = openScorer(unlinkable, { contextTokens: 256 });
      await expect(opening, shape).rejects.toMatchObject({ code: "model_unsupported" });
      unlinkable.close();
    }
  });

  const texts = ["First a chunk of text. ", "Then another one, a little longer. ", "And a question?"];
  const chunks = (): Int32Array[] => texts.map((text) => model.tokenize(text));
  const prompt = (): Int32Array => Int32Array.from(chunks().flatMap((chunk) => [...chunk]));
  const starts = (): number[] =>
    chunks().map((_, i) =>
      chunks()
        .slice(0, i)
        .reduce((sum, { length }) => sum + length, 0),
    );
  const at = ({ sums, chunks: count }: AttentionScores, layer: number, i: number, j: number): number =>
    sums[(layer * count + i) * count + j]!;

  it("sums the weights between chunks and within them", async () => {
    const scores = await scorer.attention({ tokens: prompt(), starts: starts() });
    expect(scores).toMatchObject({ layers: 3, chunks: 3 });
    const lengths = chunks().map(({ length }) => length);
    for (let layer = 0; layer < 3; layer++)
      for (let j = 0; j < 3; j++) {
        const [inter, intra] = [
          [0, 1, 2].filter((i) => i < j).map((i) => at(scores, layer, i, j)),
          at(scores, layer, j, j),
        ];
        // A token's weights sum to 1, that on itself included.
        const all = [...inter, intra].reduce((sum, value) => sum + value, 0);
        expect(all).toBeGreaterThan(0);
        expect(all).toBeLessThan(lengths[j]!);
        for (let i = j + 1; i < 3; i++) expect(at(scores, layer, i, j)).toBe(0);
      }
    // What the tokens of a chunk put on earlier chunks, summed, is the chunk's inter-attention; the
    // first chunk has none.
    const [, second = 0, third = 0] = starts();
    const before = (from: number, to: number): number =>
      scores.before.slice(from, to).reduce((sum, value) => sum + value, 0);
    const mean = (i: number, j: number): number =>
      [0, 1, 2].reduce((sum, layer) => sum + at(scores, layer, i, j), 0) / 3;
    expect(before(0, second)).toBe(0);
    expect(before(second, third)).toBeCloseTo(mean(0, 1), 4);
    expect(before(third, prompt().length)).toBeCloseTo(mean(0, 2) + mean(1, 2), 4);
  });

  it("of two tokens, knows the only weight there is", async () => {
    const scores = await scorer.attention({ tokens: Int32Array.of(5, 9), starts: [0, 1], layers: 1 });
    const one = await scorer.attention({ tokens: Int32Array.of(5, 9), starts: [0], layers: 1 });
    expect(scores.sums[1]).toBeCloseTo(one.sums[0]!, 6);
    expect(scores.before[1]).toBeCloseTo(scores.sums[1]!, 6);
    expect([scores.sums[0], scores.sums[3]]).toEqual([0, 0]);
  });

  it("asks a question over linked chunks as over computed ones, where they are the same", async () => {
    const made = await context.run({ tokens: prompt(), exports: [{ begin: 0, end: starts()[2]! }] });
    const links = [{ blob: made.blobs[0]!, position: 0 }];
    const computed = await scorer.attention({ tokens: prompt(), starts: starts() });
    const linked = await scorer.attention({ tokens: prompt(), starts: starts(), links });
    for (let layer = 0; layer < 3; layer++)
      for (const i of [0, 1]) expect(at(linked, layer, i, 2)).toBeCloseTo(at(computed, layer, i, 2), 2);
    // Linked tokens ask nothing.
    expect(at(linked, 0, 0, 1)).toBe(0);
  });

  it("finds the rows that are wrong, and only those", async () => {
    const [first, second] = chunks();
    const alone = await context.run({ tokens: second!, exports: [{ begin: 0, end: second!.length }] });
    const inPlace = await context.run({ tokens: prompt(), exports: [{ begin: first!.length, end: starts()[2]! }] });
    const links = (blob: Uint8Array) => [{ blob, position: first!.length }];
    const sum = (values: Float32Array): number => values.reduce((total, value) => total + value, 0);

    const same = await scorer.deviations({ tokens: prompt(), links: links(inPlace.blobs[0]!) });
    const other = await scorer.deviations({ tokens: prompt(), links: links(alone.blobs[0]!) });
    expect(sum(same.keys)).toBeLessThan(0.001 * sum(other.keys));
    expect(sum(same.values)).toBeLessThan(0.001 * sum(other.values));
    const covered = other.values.map((_, i) => (i >= first!.length && i < starts()[2]! ? 1 : 0));
    other.values.forEach((value, i) => (covered[i] === 1 ? expect(value).toBeGreaterThan(0) : expect(value).toBe(0)));

    // Layer 0 sees no other token: moved to its place, a row is right.
    const layers = { begin: 0, end: 1 };
    const shallow = await scorer.deviations({ tokens: prompt(), links: links(alone.blobs[0]!), layers });
    expect(Math.max(...shallow.keys, ...shallow.values)).toBeLessThan(1e-4);
  });

  it("answers questions that come together one after the other, and refuses what it can't answer", async () => {
    const ask = () => scorer.attention({ tokens: prompt(), starts: starts() });
    const [one, two] = await Promise.all([ask(), ask()]);
    expect(one.sums).toEqual(two.sums);
    const bad = { tokens: prompt(), starts: [1] };
    await expect(scorer.attention(bad)).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(scorer.attention({ ...bad, starts: [0, 999] })).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(scorer.attention({ ...bad, starts: [0], layers: 4 })).rejects.toMatchObject({
      code: "invalid_argument",
    });
    const long = { tokens: new Int32Array(300).fill(7), starts: [0] };
    await expect(scorer.attention(long)).rejects.toMatchObject({ code: "context_full" });
    const closing = await openScorer(model, { contextTokens: 256 });
    await closing.close();
    await expect(closing.attention(bad)).rejects.toMatchObject({ code: "closed" });
  });
});
