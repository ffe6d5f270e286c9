// What chunks are prefilled behind where their caches are made beforehand; the first context above
// all, that of the convention "context". Pure.
import { chunkKind } from "../../algorithms/linked-prefill/link-policy.ts";
import type { Convention } from "../../connections/kv/port.ts";

/** Chunks of context; of 1 to 6 the best for last-2 (bench/results/NOTES.md). */
export const contextChunks = 2;
/** Tokens of them together, computed once a chunk. */
export const contextTokens = 512;

/**
 * Indices of a chunk's context where it was first seen, in prompt order: the nearest before it,
 * else behind it; at least one if there is one. `index` >= 1; the system prompt is never included.
 */
export function firstContext(chunks: readonly { tokens: number }[], index: number): number[] {
  const before: number[] = [];
  const behind: number[] = [];
  let tokens = 0;
  const take = (other: number, into: number[]): boolean => {
    tokens += chunks[other]!.tokens;
    const count = before.length + behind.length;
    const fits = count === 0 || (count < contextChunks && tokens <= contextTokens);
    if (fits) into.push(other);
    return fits;
  };
  let other = index - 1;
  while (other > 0 && take(other, before)) other -= 1;
  // What could not be taken before it ends the search: the nearest stand together.
  if (other === 0) for (other = index + 1; other < chunks.length && take(other, behind);) other += 1;
  return [...behind, ...before.reverse()];
}

export interface WantedPrefix {
  convention: Convention;
  prefix: number[];
}

/**
 * Caches that an arm of this convention makes beforehand, the more useful first. `context` wants
 * two of a long chunk; none for the system prompt, `chunks[0]`. chained: behind what stands before
 * a chunk alone, so that one prefill makes all, and prompts that begin alike go on from there.
 */
export function wantedPrefixes(
  chunks: readonly { tokens: number }[],
  index: number,
  convention: Convention,
  chained = false,
): WantedPrefix[] {
  if (index === 0 || convention === "seen" || convention === "linked") return [];
  if (convention === "alone") return [{ convention, prefix: [] }];
  const behindSystem: WantedPrefix = { convention: "system", prefix: [0] };
  if (convention === "system") return [behindSystem];
  const context = firstContext(chained ? chunks.slice(0, index + 1) : chunks, index);
  const inContext = context.length === 0 ? [] : [{ convention, prefix: [0, ...context] }];
  const isLong = chunkKind(chunks[index]!.tokens) === "long";
  return isLong || (chained && index === 1) ? [...inContext, behindSystem] : inContext;
}
