// What chunks are prefilled behind where their caches are made beforehand; the first context above
// all, that of the convention "context". Pure.
import type { Convention } from "../../connections/kv/port.ts";

/**
 * Chunks of context. Of the values 1 to 6, 2 left last-2 the least to repair, by a small margin
 * (bench/results/NOTES.md).
 */
export const contextChunks = 2;
/**
 * Tokens of them together; of long passages one or two are enough, and all of this is computed once
 * a chunk.
 */
export const contextTokens = 512;

/**
 * Minimum tokens of a chunk that is also cached behind the system prompt alone: passages gain by
 * it, examples do not (bench/results/NOTES.md).
 */
export const longTokens = 128;

/**
 * Indices of a chunk's context in the prompt where it was first seen, in prompt order, the nearest
 * last: the chunks nearest before it, or, if these are too few, the nearest behind it. At least one
 * if there is one, however long. `chunks[0]` is the system prompt and is never included; `index` >=
 * 1. Empty: there is no other chunk.
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

/**
 * What a chunk's cache is made behind: indices of chunks in the order in which they stand there.
 */
export interface WantedPrefix {
  convention: Convention;
  prefix: number[];
}

/**
 * The caches that an arm of this convention makes beforehand of a chunk of a prompt, the more
 * useful first. `context` wants two of a long one: in its first context it stands best behind
 * others, and where it stands first itself the one from behind the system prompt alone is exact.
 * Nothing for the system prompt, `chunks[0]`, and by conventions that take caches from the prefills
 * that come.
 */
export function wantedPrefixes(
  chunks: readonly { tokens: number }[],
  index: number,
  convention: Convention,
): WantedPrefix[] {
  if (index === 0 || convention === "seen" || convention === "linked") return [];
  if (convention === "alone") return [{ convention, prefix: [] }];
  const behindSystem: WantedPrefix = { convention: "system", prefix: [0] };
  if (convention === "system") return [behindSystem];
  const context = firstContext(chunks, index);
  const inContext = context.length === 0 ? [] : [{ convention, prefix: [0, ...context] }];
  return chunks[index]!.tokens < longTokens ? inContext : [...inContext, behindSystem];
}
