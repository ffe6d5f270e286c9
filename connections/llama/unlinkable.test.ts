// Models whose chunk caches can't be moved: they answer as ever, and refuse links with the reason.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LlamaContext, LlamaModel } from "./port.ts";
import { createTinyModels, llamaIsBuilt, type TinyModels } from "./models.testing.ts";

const kinds = [
  { shape: "tiny-window", why: /sliding-window/ },
  { shape: "tiny-mrope", why: /M-RoPE/ },
  { shape: "tiny-positions", why: /rotary/ },
  { shape: "tiny-recurrent", why: /recurrent/ },
] as const;

describe.skipIf(!llamaIsBuilt)("models without links (npm run setup builds the addon)", () => {
  let models: TinyModels;
  beforeAll(async () => {
    models = await createTinyModels();
  });
  afterAll(() => models?.remove());

  describe.each(kinds)("$shape", ({ shape, why }) => {
    let model: LlamaModel;
    let context: LlamaContext;
    beforeAll(async () => {
      model = await models.open(shape);
      // Float32 without flash attention: answers do not depend on what else is in a batch.
      const exact = { flashAttention: "off", kvType: "f32" } as const;
      context = await model.openContext({ contextTokens: 512, sequences: 3, ...exact });
    });
    afterAll(async () => {
      await context?.close();
      model?.close();
    });
    const tokens = (text: string): Int32Array => model.tokenize(text);

    it("says why", () => {
      expect(model.facts).toMatchObject({ linkable: false, unlinkable: expect.stringMatching(why), rope: null });
      expect(context.unlinkable).toBe(model.facts.unlinkable);
      expect(context.format).toMatchObject({ layers: 0, tokenBytes: 0, kvType: "f32", flashAttention: false });
    });

    it("answers, greedily the same whatever else is in the batch and with flash attention too", async () => {
      const prompt = (text: string) => ({ tokens: tokens(text), maxTokens: 40 });
      const texts = [
        "A short one.",
        "A prompt that is longer than the window is. ".repeat(4),
        "Another, somewhat longer one.",
      ];
      const alone = [];
      for (const text of texts) alone.push(await context.run(prompt(text)));
      for (const [i, answer] of alone.entries()) {
        expect(answer.generated.length).toBeGreaterThan(0);
        expect(answer).toMatchObject({ linked: 0, recomputed: 0, prefilled: tokens(texts[i]!).length });
      }
      expect(new Set(alone.map(({ text }) => text)).size).toBe(3);
      // Twice as many as there is room for at a time.
      const together = await Promise.all([...texts, ...texts].map((text) => context.run(prompt(text))));
      expect(together.map(({ generated }) => generated)).toEqual(
        [...alone, ...alone].map(({ generated }) => generated),
      );
      const usual = await model.openContext({ contextTokens: 512 });
      const [one, two] = [await usual.run(prompt(texts[1]!)), await usual.run(prompt(texts[1]!))];
      expect(one.generated.length).toBeGreaterThan(0);
      expect(two.generated).toEqual(one.generated);
      await usual.close();
    });

    it("lets a request be cancelled and the rest go on", async () => {
      const controller = new AbortController();
      const long = { tokens: tokens("Begin."), maxTokens: 200 };
      const cancelled = context.run(long, { signal: controller.signal, onText: () => controller.abort() });
      const other = context.run({ ...long, maxTokens: 20 });
      await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
      expect((await other).generated.length).toBeGreaterThan(0);
    });

    it("refuses links and exports", async () => {
      const refused = { code: "model_unsupported", message: expect.stringMatching(why) };
      const prompt = { tokens: tokens("A prompt.") };
      await expect(context.run({ ...prompt, exports: [{ begin: 0, end: 3 }] })).rejects.toMatchObject(refused);
      const other = await models.open("tiny");
      const making = await other.openContext({ contextTokens: 256 });
      const made = await making.run({ tokens: other.tokenize("A pr"), exports: [{ begin: 0, end: 3 }] });
      const links = [{ blob: made.blobs[0]!, position: 0 }];
      await expect(context.run({ ...prompt, links })).rejects.toMatchObject(refused);
      await making.close();
      other.close();
    });
  });

  it("refuses more positions than a model's table has", async () => {
    const model = await models.open("tiny-positions");
    const context = await model.openContext({ contextTokens: 512 });
    const prompt = { tokens: new Int32Array(200).fill(70) };
    await expect(context.run({ ...prompt, maxTokens: 57 })).rejects.toMatchObject({
      code: "context_full",
      message: "the model has 256 positions",
    });
    expect((await context.run({ ...prompt, maxTokens: 56 })).generated.length).toBeGreaterThan(0);
    await context.close();
    model.close();
  });
});
