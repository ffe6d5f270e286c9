// Scoring passes: how much each chunk of a prompt looked at what stood before it, kept with the caches that were made behind that very prefix.
import { contextImpact } from "../../algorithms/chunk-scores.ts";
import type { KvStore } from "../../connections/kv/port.ts";
import type { AttentionScores, LlamaScorer } from "../../connections/llama/port.ts";
import type { KeyedPrompt } from "./plans.ts";
import type { KeyedChunk } from "./variants.ts";

type Store = Pick<KvStore, "variants" | "describe">;

/** Keys of caches that nothing is known of, and the chunk of the prompt that each belongs to. */
export function unscored(
  store: Pick<Store, "variants">,
  chunks: readonly KeyedChunk[],
): { key: string; index: number }[] {
  return chunks.flatMap(({ chunk }, index) => {
    const before = chunks.slice(0, index);
    return store
      .variants(chunk)
      .filter(({ impact, prefix }) => impact === null && samePrefix(prefix, before))
      .map(({ key }) => ({ key, index }));
  });
}

/** Looks at the chunks of a prompt and keeps what it finds with their caches. Costs a prefill without flash attention. */
export async function scoreChunks(
  { tokens, chunks }: KeyedPrompt,
  store: Store,
  scorer: Pick<LlamaScorer, "attention">,
): Promise<void> {
  const wanted = unscored(store, chunks);
  if (wanted.length === 0) return;
  const end = chunks.reduce((sum, chunk) => sum + chunk.tokens, 0);
  const starts = chunks.map(({ begin }) => begin);
  const scores = await scorer.attention({ tokens: tokens.subarray(0, end), starts });
  for (const { key, index } of wanted) await store.describe(key, impactOf(scores, chunks, index));
}

function impactOf(
  { layers, chunks: count, sums, before }: AttentionScores,
  chunks: readonly KeyedChunk[],
  index: number,
) {
  const at = (layer: number, from: number): number => sums[(layer * count + from) * count + index] ?? 0;
  const { begin, tokens } = chunks[index]!;
  return contextImpact(
    chunks.slice(0, index).map((chunk) => chunk.tokens),
    Array.from({ length: layers }, (_, layer) => ({
      inter: Array.from({ length: index }, (_prefix, from) => at(layer, from)),
      intra: at(layer, index),
    })),
    before.subarray(begin, begin + tokens),
  );
}

const samePrefix = (prefix: readonly { chunk: string }[], before: readonly KeyedChunk[]): boolean =>
  prefix.length === before.length && prefix.every(({ chunk }, index) => chunk === before[index]?.chunk);
