import { expect, it } from "vitest";
import { anEntry, aStore, blobOf } from "../../connections/kv/values.testing.ts";
import type { AttentionQuestion, AttentionScores } from "../../connections/llama/port.ts";
import { scoreChunks } from "./impact.ts";

// Chunk 0 has one token, chunk 1 two; two layers. Row-major [layer, from, to].
const scores: AttentionScores = {
  ...{ layers: 2, chunks: 2, sums: Float32Array.of(0, 0.5, 0, 0.25, 0, 0.5, 0, 0.25) },
  before: Float32Array.of(0, 0.125, 0.375),
};
const asked: AttentionQuestion[] = [];
const scorer = {
  attention: (question: AttentionQuestion) => {
    asked.push(question);
    return Promise.resolve(scores);
  },
};

it("keeps with each cache how it looked at the prefix that it was made behind, and asks once", async () => {
  const store = await aStore();
  const [first, second] = [anEntry(1, [], "alone"), anEntry(2, [{ chunk: anEntry(1).chunk, tokens: 1 }])];
  const elsewhere = anEntry(2, [{ chunk: anEntry(9).chunk, tokens: 5 }]);
  for (const entry of [first, second, elsewhere]) await store.put(entry, blobOf(1));
  const prompt = {
    tokens: Int32Array.of(1, 2, 3, 99),
    chunks: [
      { chunk: first.chunk, begin: 0, tokens: 1 },
      { chunk: second.chunk, begin: 1, tokens: 2 },
    ],
  };
  await scoreChunks(prompt, store, scorer);
  const impactOf = (key: string) => store.list().find((one) => one.key === key)?.impact;
  expect(impactOf(first.key)).toEqual({ cci: 0.5, inter: [], ranking: [0] });
  // a = 2 * 0.5 / (2 * 1), b = 2 * 0.25 / 4: a/b = 4.
  expect(impactOf(second.key)).toEqual({ cci: 1 / (1 + Math.exp(-4)), inter: [0.5], ranking: [1, 0] });
  expect(impactOf(elsewhere.key)).toBeNull();
  await scoreChunks(prompt, store, scorer);
  expect(asked).toEqual([{ tokens: Int32Array.of(1, 2, 3), starts: [0, 1] }]);
});
