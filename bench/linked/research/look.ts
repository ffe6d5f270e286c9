// What a research policy must know of a prompt's caches before it can choose the recomputed tokens.
// This runs for every prompt, before the first token, and its cost counts for the policy.
import type { LlamaScorer } from "../../../connections/llama/scorer.ts";
import type { KnownChunk } from "./plan.ts";
import { type ComparedPolicy, isResearch } from "./policy.ts";
import { type AskedPrompt, withAttention, withFocus } from "./question.ts";

/**
 * Whether a policy looks at the linked caches themselves; craft alone goes by what was found when
 * they were made.
 */
export const looks = (policy: ComparedPolicy): boolean =>
  isResearch(policy) && (policy.kind === "blend" || policy.kind === "attended" || policy.focus !== undefined);

/**
 * The chunks with what was found. They stand one behind the other from 0; behind them stands the
 * question.
 */
export async function lookAt<Chunk extends KnownChunk>(
  policy: ComparedPolicy,
  scorer: Pick<LlamaScorer, "attention" | "deviations">,
  prompt: AskedPrompt,
  chunks: readonly Chunk[],
): Promise<readonly Chunk[]> {
  if (!isResearch(policy)) return chunks;
  if (policy.kind === "blend") return withDeviation(scorer, prompt, chunks);
  // Where a chunk is missing the look would cost a prefill of it: this once all are in focus.
  if (policy.focus !== undefined && chunks.every(({ state }) => state !== "missing"))
    return withFocus(scorer, prompt, chunks, policy.focus);
  return policy.kind === "attended" ? withAttention(scorer, prompt, chunks) : chunks;
}

async function withDeviation<Chunk extends KnownChunk>(
  scorer: Pick<LlamaScorer, "deviations">,
  { tokens, links }: AskedPrompt,
  chunks: readonly Chunk[],
): Promise<Chunk[]> {
  const end = chunks.reduce((sum, { length }) => sum + length, 0);
  const { keys, values } = await scorer.deviations({ tokens: tokens.subarray(0, end), links: links ?? [] });
  const deviation = keys.map((key, token) => key + values[token]!);
  let begin = 0;
  return chunks.map((chunk) => {
    begin += chunk.length;
    return { ...chunk, deviation: deviation.subarray(begin - chunk.length, begin) };
  });
}
