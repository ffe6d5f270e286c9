// The addon through its wrapper, on tiny generated models: what it promises, what it refuses. The
// equalities are checked by equalities.test.ts.
import { truncate, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openLlamaModel } from "./model.ts";
import type { LlamaContext, LlamaModel, Prompt, RunResult } from "./port.ts";
import { describeChunk, llamaDevices, llamaIsBuilt, openTiny, type Opened, type TinyModels } from "./models.testing.ts";

const unknown = "0".repeat(64);

describe.skipIf(!llamaIsBuilt)("llama addon (npm run setup builds it)", () => {
  let tiny: Opened;
  let models: TinyModels;
  let model: LlamaModel;
  let context: LlamaContext;
  beforeAll(async () => {
    // Without flash attention, float32: answers do not depend on what else is in a batch.
    tiny = await openTiny({ contextTokens: 1024, sequences: 3, flashAttention: "off", kvType: "f32" });
    ({ models, model, context } = tiny);
  });
  afterAll(() => tiny?.close());

  const tokens = (text: string): Int32Array => model.tokenize(text);
  const sentence = "The quick brown fox jumps over the lazy dog, and then some more.";
  const cached = async (text: string, within = context): Promise<Uint8Array> => {
    const result = await within.run({ tokens: tokens(text), exports: [{ begin: 0, end: tokens(text).length }] });
    return result.blobs[0]!;
  };

  it("says what it found and what the model is", () => {
    expect(llamaDevices().some(({ kind }) => kind === "cpu")).toBe(true);
    expect(model.facts).toMatchObject({
      architecture: "llama",
      layers: 3,
      keyHeads: 1,
      headDimension: 64,
      vocabulary: 320,
      trainContext: 4096,
      rope: { type: "norm", dimensions: 64, base: 10_000, scale: 1, factors: false },
    });
    expect(model.facts.devices).toHaveLength(1);
    expect(context.format).toMatchObject({ kvType: "f32", flashAttention: false, tokenBytes: 3 * 2 * 64 * 4 });
  });

  it("parses control tokens only on request", () => {
    expect(model.tokenize("a<|im_end|>", { control: true })).toEqual(Int32Array.of(97 - 0, 258));
    expect(model.tokenize("<|im_end|>")).toHaveLength(10);
    expect(model.detokenize(tokens("Zürich ☃"))).toBe("Zürich ☃");
    expect(model.isEnd(258)).toBe(true);
  });

  it("tells which tokens were linked, recomputed and prefilled", async () => {
    const prompt = tokens(sentence);
    const blob = await cached(sentence.slice(0, 30));
    const covered = tokens(sentence.slice(0, 30)).length;
    expect(describeChunk(blob)).toMatchObject({ ...context.format, first: 0, tokens: prompt.slice(0, covered) });
    const result = await context.run({
      tokens: prompt,
      links: [{ blob, position: 0 }],
      recompute: [
        { begin: 3, end: 5 },
        { begin: 4, end: 7 },
      ],
      logitsAt: [4, prompt.length - 1],
    });
    expect(result).toMatchObject({ linked: covered - 4, recomputed: 4, prefilled: prompt.length - covered, runs: 2 });
    expect(result.logits).toHaveLength(2 * model.facts.vocabulary);
    expect(result).toMatchObject({ finish: "none", text: "", generated: new Int32Array(0) });
  });

  it("links a chunk at another place, and gives a part of a prompt as a chunk", async () => {
    const prompt = tokens(sentence);
    const whole = await context.run({ tokens: prompt, exports: [{ begin: 10, end: 20 }] });
    expect(describeChunk(whole.blobs[0]!)).toMatchObject({ first: 10, tokens: prompt.slice(10, 20) });
    const moved = await context.run({
      tokens: Int32Array.of(...prompt.slice(10, 20), ...prompt.slice(0, 5)),
      links: [{ blob: whole.blobs[0]!, position: 0 }],
      maxTokens: 1,
    });
    expect(moved).toMatchObject({ linked: 10, prefilled: 5, finish: expect.stringMatching(/stop|length/) });
  });

  it("gives the answer in parts, ends it at a stop string, and never shows a part of one", async () => {
    const prompt: Prompt = { tokens: tokens(sentence), maxTokens: 40 };
    const parts: string[] = [];
    let computed = 0;
    const onProgress = (count: number): void => void (computed += count);
    const plain = await context.run(prompt, { onText: (text) => void parts.push(text), onProgress });
    expect(parts.join("")).toBe(plain.text);
    expect(plain).toMatchObject({ finish: "length", generated: { length: 40 } });
    // The last token is shown and never computed.
    expect(computed).toBe(prompt.tokens.length + 39);

    const [, one = "", two = ""] = [...plain.text.matchAll(/[\s\S]{6}/g)].map((match) => match[0]);
    const stopped = await context.run({ ...prompt, stop: ["", one + two] });
    expect(stopped.finish).toBe("stop");
    expect(stopped.text).toBe(plain.text.slice(0, plain.text.indexOf(one + two)));
  });

  it("samples alike for the same seed, whatever else is in the batch", async () => {
    const prompts = ["one", sentence, "another"].map((text, i) => ({
      tokens: tokens(text),
      maxTokens: 25,
      temperature: 1.5,
      topP: 0.9,
      seed: i,
    }));
    const alone: RunResult[] = [];
    for (const prompt of prompts) alone.push(await context.run(prompt));
    const together = await Promise.all([...prompts, ...prompts].map((prompt) => context.run(prompt)));
    expect(together.map(({ text }) => text)).toEqual([...alone, ...alone].map(({ text }) => text));
    const other = await context.run({ ...prompts[0]!, seed: 99 });
    expect(other.text).not.toBe(alone[0]?.text);
  });

  it("lets requests wait for room, and refuses what never fits", async () => {
    const small = await model.openContext({ contextTokens: 256, sequences: 2, mostWaiting: 4 });
    try {
      // Each wants half of the cells: two at a time.
      const prompt = { tokens: tokens(sentence), maxTokens: 60 };
      const answers = await Promise.all([1, 2, 3, 4].map(() => small.run(prompt)));
      expect(answers.map(({ finish }) => finish)).toEqual(["length", "length", "length", "length"]);
      await expect(small.run({ ...prompt, maxTokens: 300 })).rejects.toMatchObject({ code: "context_full" });
      const many = await Promise.allSettled(Array.from({ length: 20 }, () => small.run(prompt)));
      expect(many.some((answer) => answer.status === "rejected")).toBe(true);
      expect(many.filter((answer) => answer.status === "fulfilled").length).toBeGreaterThanOrEqual(4);
    } finally {
      await small.close();
    }
  });

  it("goes on with other requests while large caches are linked and exported", async () => {
    const moving = await model.openContext({ contextTokens: 2_048, sequences: 3, pieceBytes: 1_024 });
    try {
      const chunk = tokens(sentence);
      const blob = await cached(sentence, moving);
      const copies = Array.from({ length: 4 }, (_, i) => i * chunk.length);
      const all = Int32Array.from(copies.flatMap(() => [...chunk]));
      let other = 0;
      const controller = new AbortController();
      const running = moving.run(
        { tokens: tokens("one"), maxTokens: 900 },
        { signal: controller.signal, onProgress: () => other++ },
      );
      while (other < 2) await sleep(1);
      const pieces = Math.floor(all.length / Math.floor(1_024 / moving.format.tokenBytes));

      // Its first token is computed once all is linked, and exports begin behind that.
      const began = other;
      let prompted = 0;
      const linking = { links: copies.map((position) => ({ blob, position })), maxTokens: 1 };
      const exports = [{ begin: 0, end: all.length }];
      await moving.run({ tokens: all, ...linking, exports }, { onProgress: () => (prompted = other) });
      // At most 16 pieces between two batches.
      expect(prompted - began).toBeGreaterThanOrEqual(Math.floor(pieces / 16) - 1);
      expect(other - prompted).toBeGreaterThanOrEqual(Math.floor(pieces / 16) - 1);
      expect(Math.floor(pieces / 16)).toBeGreaterThan(10);

      // The exported cache is the linked one.
      const [whole, again] = (
        await Promise.all([0, 1].map(() => moving.run({ tokens: all, links: linking.links, exports })))
      ).map(({ blobs }) => blobs[0]!);
      expect(Buffer.compare(whole!, again!)).toBe(0);
      controller.abort();
      await running.catch(() => undefined);
    } finally {
      await moving.close();
    }
  });

  it("fails a request with what its own callback throws, and no other", async () => {
    const long = { tokens: tokens("one"), maxTokens: 40 };
    const throwing = (): void => {
      throw new Error("from a callback");
    };
    const [text, progress, other] = await Promise.allSettled([
      context.run(long, { onText: throwing }),
      context.run(long, { onProgress: throwing }),
      context.run(long),
    ]);
    for (const one of [text, progress])
      expect(one).toMatchObject({ status: "rejected", reason: { message: "from a callback" } });
    expect(other).toMatchObject({ status: "fulfilled", value: { finish: "length" } });
  });

  it("ends what is cancelled, and goes on with the rest", async () => {
    const controller = new AbortController();
    const long = { tokens: tokens(sentence), maxTokens: 900 };
    const cancelled = context.run(long, { signal: controller.signal, onText: () => controller.abort() });
    const other = context.run({ ...long, maxTokens: 20 });
    await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
    expect((await other).finish).toBe("length");
    await expect(context.run(long, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "cancelled" });
  });

  it("fails what is under way when it is closed", async () => {
    const closing = await model.openContext({ contextTokens: 1024 });
    // The first may end before: the model's answer is short.
    const answers = Array.from({ length: 20 }, () => closing.run({ tokens: tokens(sentence), maxTokens: 900 }));
    const ended = Promise.allSettled(answers);
    await closing.close();
    expect((await ended).at(-1)).toMatchObject({ status: "rejected", reason: { code: "closed" } });
    await expect(closing.run({ tokens: tokens("a") })).rejects.toMatchObject({ code: "closed" });
  });

  it("refuses chunk caches that are foreign, cut short or do not fit the prompt", async () => {
    const prompt = tokens(sentence);
    const blob = await cached(sentence.slice(0, 10));
    const linked = (given: Uint8Array, position = 0, within = context): Promise<RunResult> =>
      within.run({ tokens: prompt, links: [{ blob: given, position }] });
    for (const size of [0, 5, 127, 128, blob.length - 1])
      await expect(linked(blob.slice(0, size))).rejects.toMatchObject({ code: "blob_corrupt" });
    const changed = (at: number, value: number): Uint8Array => {
      const copy = Uint8Array.from(blob);
      copy[at] = value;
      return copy;
    };
    await expect(linked(changed(0, 1))).rejects.toMatchObject({ code: "blob_corrupt" });
    // Version, layers, tokens of the header.
    for (const at of [8, 64, 76])
      await expect(linked(changed(at, 255))).rejects.toMatchObject({ code: "blob_corrupt" });
    await expect(linked(changed(16, 1))).rejects.toMatchObject({ code: "blob_foreign" });
    await expect(linked(blob, 1)).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(linked(blob, prompt.length - 5)).rejects.toMatchObject({ code: "invalid_argument" });
    const twice = [0, 0].map((position) => ({ blob, position }));
    await expect(context.run({ tokens: prompt, links: twice })).rejects.toMatchObject({ code: "invalid_argument" });

    for (const other of [
      { flashAttention: "on" as const, kvType: "f32" as const },
      { flashAttention: "off" as const },
    ]) {
      const elsewhere = await model.openContext({ contextTokens: 256, ...other });
      await expect(linked(blob, 0, elsewhere)).rejects.toMatchObject({ code: "blob_foreign" });
      await elsewhere.close();
    }
    const stranger = await models.open("tiny-factors");
    const strange = await stranger.openContext({ contextTokens: 256, flashAttention: "off", kvType: "f32" });
    await expect(linked(blob, 0, strange)).rejects.toMatchObject({ code: "blob_foreign" });
    await strange.close();
    stranger.close();
  });

  it.each([
    ["no tokens", { tokens: new Int32Array(0) }],
    ["a token that is none", { tokens: Int32Array.of(1, 320) }],
    ["a negative token", { tokens: Int32Array.of(-1) }],
    ["a range outside", { tokens: Int32Array.of(1, 2), recompute: [{ begin: 1, end: 3 }] }],
    ["an empty export", { tokens: Int32Array.of(1, 2), exports: [{ begin: 1, end: 1 }] }],
    ["logits outside", { tokens: Int32Array.of(1, 2), logitsAt: [2] }],
    ["logits in disorder", { tokens: Int32Array.of(1, 2), logitsAt: [1, 0] }],
    ["a temperature below 0", { tokens: Int32Array.of(1), maxTokens: 1, temperature: -1 }],
    ["a temperature that is none", { tokens: Int32Array.of(1), maxTokens: 1, temperature: NaN }],
    ["topP 0", { tokens: Int32Array.of(1), maxTokens: 1, topP: 0 }],
    ["half a token", { tokens: Int32Array.of(1), maxTokens: 0.5 }],
  ] satisfies [string, Prompt][])("refuses %s", async (_, prompt) => {
    await expect(context.run(prompt)).rejects.toMatchObject({ name: "LlamaError", code: "invalid_argument" });
  });

  it("wants logits only of what is computed", async () => {
    const blob = await cached(sentence.slice(0, 10));
    const prompt = { tokens: tokens(sentence), links: [{ blob, position: 0 }], logitsAt: [2] };
    await expect(context.run(prompt)).rejects.toThrow("recompute it");
    expect((await context.run({ ...prompt, recompute: [{ begin: 2, end: 3 }] })).logits).toHaveLength(320);
  });

  it("refuses what is no model", async () => {
    const open = (path: string): Promise<LlamaModel> => openLlamaModel({ path, fingerprint: unknown });
    const file = await models.file("tiny-neox");
    await expect(open(`${file}.nowhere`)).rejects.toMatchObject({ code: "model_missing" });
    await writeFile(`${file}.text`, "no model");
    await expect(open(`${file}.text`)).rejects.toMatchObject({ code: "model_failed" });
    await truncate(file, 100_000);
    await expect(open(file)).rejects.toMatchObject({ code: "model_failed" });
    await expect(openLlamaModel({ path: file, fingerprint: "x" })).rejects.toMatchObject({ code: "invalid_argument" });
  });

  it("refuses settings that do not go together", async () => {
    const narrow = await models.open("tiny-narrow");
    const quantised = { contextTokens: 256, kvType: "q8_0" as const };
    await expect(narrow.openContext(quantised)).rejects.toMatchObject({ code: "model_unsupported" });
    await expect(model.openContext({ ...quantised, flashAttention: "off" })).rejects.toMatchObject({
      code: "invalid_argument",
    });
    for (const bad of [
      { contextTokens: 0 },
      { contextTokens: 256, sequences: 500 },
      { contextTokens: 256, threads: 0 },
    ])
      await expect(model.openContext(bad)).rejects.toMatchObject({ code: "invalid_argument" });
    narrow.close();
    expect(() => narrow.tokenize("a")).toThrow("closed");
  });

  it.runIf(llamaIsBuilt && !llamaDevices().some(({ kind }) => kind === "gpu"))(
    "never falls back to the CPU when a GPU is asked for",
    async () => {
      const path = await models.file("tiny");
      await expect(openLlamaModel({ path, fingerprint: unknown, device: "gpu" })).rejects.toMatchObject({
        code: "device_missing",
        message: expect.stringContaining("CPU"),
      });
    },
  );
});
