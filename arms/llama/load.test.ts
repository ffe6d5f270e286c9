import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parsePolicy } from "../../algorithms/linked-prefill/link-policy.ts";
import {
  createTinyModels,
  llamaIsBuilt,
  type TinyModels,
  type TinyShape,
} from "../../connections/llama/models.testing.ts";
import type { KvType } from "../../connections/llama/port.ts";
import type { Piece } from "../../schemas/types.ts";
import { type LoadedLlama, loadLlama } from "./load.ts";

const chatTemplate =
  "{% for m in messages %}{{ '[' + m['role'] + ' ' + m['content'] + ']' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '[assistant ' }}{% endif %}";
const piece = (kind: Piece["kind"], role: Piece["role"], text: string): Piece => ({ kind, id: null, role, text });
const pieces = [
  piece("system", "system", "Answer."),
  piece("example", "user", "one"),
  piece("example", "assistant", "two"),
  piece("turn", "user", "three"),
];

describe.skipIf(!llamaIsBuilt)("what a llama arm's process holds (npm run setup builds the addon)", () => {
  let models: TinyModels;
  beforeAll(async () => {
    models = await createTinyModels();
  });
  afterAll(() => models?.remove());

  async function load(shape: TinyShape, kvType: KvType = "f16", sequences = 1): Promise<LoadedLlama> {
    const linked = {
      convention: "seen",
      folder: null,
      fingerprint: null,
      memoryBytes: 8_000_000,
      diskBytes: 1,
    } as const;
    const model = await models.file(shape);
    const sizes = { contextTokens: 256, sequences, threads: 1, kvType };
    const device = { device: "cpu", gpuLayers: null, flashAttention: "auto" } as const;
    return loadLlama({
      model,
      chatTemplate,
      system: null,
      ...sizes,
      ...device,
      linked: { ...linked, keepInFull: true },
    });
  }

  async function answerTwice({ model, chunked }: LoadedLlama, name: string) {
    const policy = parsePolicy(name);
    if ("problem" in policy) throw new Error(policy.problem);
    const ending = { signal: new AbortController().signal, onProgress: () => undefined, keep: true };
    const prompt = model.keyed(chunked(pieces), "acme/default");
    const [first, second] = [
      await model.answer(prompt, policy, { maxTokens: 2 }, ending),
      await model.answer(prompt, policy, { maxTokens: 2 }, ending),
    ];
    return { prompt, first, second };
  }

  it("links what it has", async () => {
    const loaded = await load("tiny");
    const { prompt, second } = await answerTwice(loaded, "naive");
    expect(loaded.unlinkable).toBeNull();
    expect(prompt.chunks).toHaveLength(2);
    expect(second.linked).toBe(prompt.chunks.reduce((sum, { tokens }) => sum + tokens, 0));
    await loaded.close();
  });

  it.each(["tiny", "tiny-window"] as const)(
    "answers as many of the largest prompts as it has slots: %s",
    async (shape) => {
      const loaded = await load(shape, "f16", 3);
      const prompt = loaded.model.keyed(loaded.chunked(pieces), "acme/default");
      const wanted = { maxTokens: 256 - prompt.tokens.length };
      const ending = { signal: new AbortController().signal, onProgress: () => undefined, keep: false };
      const full = parsePolicy("full");
      if ("problem" in full) throw new Error(full.problem);
      const answers = await Promise.all([1, 2, 3, 4].map(() => loaded.model.answer(prompt, full, wanted, ending)));
      for (const { result } of answers) expect(result.generated).toEqual(answers[0]!.result.generated);
      await loaded.close();
    },
  );

  it("takes about half of the bytes with q8_0", async () => {
    const [half, eighth] = [await load("tiny"), await load("tiny", "q8_0")];
    for (const loaded of [half, eighth]) {
      const { prompt, second } = await answerTwice(loaded, "naive");
      expect(second.linked).toBe(prompt.chunks.reduce((sum, { tokens }) => sum + tokens, 0));
    }
    const bytesOf = ({ store }: LoadedLlama): number => store.list().reduce((sum, { bytes }) => sum + bytes, 0);
    expect(bytesOf(eighth) / bytesOf(half)).toBeLessThan(0.7);
    await Promise.all([half.close(), eighth.close()]);
  });

  it.each(["tiny-window", "tiny-recurrent"] as const)(
    "answers without links where the model has none: %s",
    async (shape) => {
      const loaded = await load(shape);
      const { prompt, first, second } = await answerTwice(loaded, "full");
      expect(loaded.unlinkable).toMatch(/window|recurrent/);
      expect(prompt).toMatchObject({ chunks: [], turnEnds: [] });
      for (const answered of [first, second])
        expect(answered).toMatchObject({ linked: 0, recomputed: 0, prefilled: prompt.tokens.length });
      expect(second.result.text).toBe(first.result.text);
      await loaded.close();
    },
  );
});
