// Attention of a linked prompt's question: the question is prefilled behind the unrepaired caches
// (the naive link), without flash attention, and its attention weights are read. Costs a prefill of
// the question, before the first token, for every prompt.
import type { AttentionQuestion, LlamaScorer } from "../../../connections/llama/scorer.ts";
import { focusedChunks, focusedCount, largestGapCount } from "./focus.ts";
import type { KnownChunk } from "./plan.ts";
import type { FocusCut } from "./policy.ts";

type Scorer = Pick<LlamaScorer, "attention">;

/**
 * The chunks stand one behind the other from 0, and the rest of the tokens, at least one, is the
 * question.
 */
export type AskedPrompt = Pick<AttentionQuestion, "tokens" | "links">;

/** Layers in a row that must see the same chunks. */
const focusWindow = 3;
/** Tokens looked at in one pass: it gives back a square of them for every layer. */
const tokensAtOnce = 192;

/**
 * The chunks with those out of focus marked so. The first chunk is not asked about: a model puts
 * the weights that it needs nowhere on the first tokens, whatever they are, and they stand where
 * they stood when they were cached.
 */
export async function withFocus<Chunk extends KnownChunk>(
  scorer: Scorer,
  prompt: AskedPrompt,
  chunks: readonly Chunk[],
  cut: FocusCut,
): Promise<Chunk[]> {
  const starts = startsOf(chunks);
  const { layers, sums, chunks: count } = await scorer.attention({ ...prompt, starts });
  const question = Array.from({ length: layers }, (_, layer) =>
    chunks.slice(1).map((_chunk, index) => sums[(layer * count + index + 1) * count + count - 1] ?? 0),
  );
  const found = focusedChunks(question, focusWindow, cut === "gap" ? largestGapCount : focusedCount);
  return chunks.map((chunk, index) => ({ ...chunk, focused: index === 0 || found.chunks.includes(index - 1) }));
}

/** The chunks with the question's attention on each of their tokens, mean over layers. */
export async function withAttention<Chunk extends KnownChunk>(
  scorer: Scorer,
  prompt: AskedPrompt,
  chunks: readonly Chunk[],
): Promise<Chunk[]> {
  const starts = startsOf(chunks);
  const end = starts.at(-1)!;
  const attention = new Float32Array(end);
  for (let begin = 0; begin < end; begin += tokensAtOnce) {
    const upTo = Math.min(end, begin + tokensAtOnce);
    const before = begin > 0 ? [0] : [];
    const behind = upTo < end ? [upTo] : [];
    const tokens = Array.from({ length: upTo - begin }, (_, index) => begin + index);
    const asked = { ...prompt, starts: [...before, ...tokens, ...behind, end] };
    const { layers, sums, chunks: count } = await scorer.attention(asked);
    for (let layer = 0; layer < layers; layer++)
      for (const [index, token] of tokens.entries())
        attention[token]! += (sums[(layer * count + before.length + index) * count + count - 1] ?? 0) / layers;
  }
  return chunks.map((chunk, index) => ({
    ...chunk,
    attention: attention.subarray(starts[index], starts[index + 1]),
  }));
}

/** Start positions of the chunks and, last, of the question. */
function startsOf(chunks: readonly KnownChunk[]): number[] {
  const starts = [0];
  for (const { length } of chunks) starts.push(starts.at(-1)! + length);
  return starts;
}
