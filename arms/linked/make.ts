// Makes the caches that a convention wants of a prompt's chunks, before a request shows them.
import { variantKey } from "../../connections/kv/keys.ts";
import type { Convention, KvListed, KvStore, PrefixChunk } from "../../connections/kv/port.ts";
import { chunkKind } from "../../algorithms/linked-prefill/link-policy.ts";
import type { LlamaContext } from "../../connections/llama/port.ts";
import { wantedPrefixes } from "./context.ts";
import { type ImpactScorer, scoredRanges } from "./impact.ts";
import type { KeyedPrompt } from "./plans.ts";
import type { KeyedChunk } from "./variants.ts";

export interface WantedCache {
  key: string;
  chunk: KeyedChunk;
  convention: Convention;
  prefix: readonly KeyedChunk[];
  /** The prompt that it was found in. */
  tokens: Int32Array;
}

export interface CacheMaker {
  /** What the store has not, the more useful first. */
  wanted(prompt: KeyedPrompt): WantedCache[];
  /**
   * Tokens computed for it. A cache that finds no room is lost: it is computed again when it is
   * needed. Rejects with LlamaError.
   */
  make(wanted: WantedCache, signal: AbortSignal): Promise<number>;
}

export interface CacheMakerOptions {
  context: Pick<LlamaContext, "run">;
  store: Pick<KvStore, "variants" | "put">;
  format: string;
  convention: Convention;
  /** Scores caches of passages; absent: none is. */
  scorer?: ImpactScorer | undefined;
}

export function createCacheMaker({ context, store, format, convention, scorer }: CacheMakerOptions): CacheMaker {
  const scoreId = ({ chunk }: KeyedChunk, made: Convention): string => `${made} ${chunk}`;
  const mayScore = ({ chunk, convention: made, prefix }: Omit<WantedCache, "key" | "tokens">): boolean => {
    const length = prefix.reduce((sum, { tokens }) => sum + tokens, chunk.tokens);
    const isPassage = prefix.length > 0 && chunkKind(chunk.tokens) === "long";
    return isPassage && scorer?.mayScore(scoreId(chunk, made), length) === true;
  };

  /** One of a kind is enough; a seen one is as good behind the system prompt alone. */
  const isThere = (wanted: WantedCache): boolean => {
    const { chunk, convention: made } = wanted;
    const isSame = (one: KvListed): boolean =>
      made !== convention && one.convention === "seen" && one.prefix.length === 1;
    const found = store.variants(chunk.chunk).filter((one) => one.convention === made || isSame(one));
    return found.some(({ impact }) => impact !== undefined) || (found.length > 0 && !mayScore(wanted));
  };

  // The others take them from prompts as they come.
  const isMade = convention === "alone" || convention === "system" || convention === "context";

  return {
    wanted({ tokens, chunks }) {
      const all = chunks.flatMap((chunk, index) => {
        const prefixes = wantedPrefixes(chunks, index, convention);
        // The system prompt, and what stands beside nothing, have one beginning alone.
        if (prefixes.length === 0 && isMade && store.variants(chunk.chunk).length === 0)
          prefixes.push(index === 0 ? { convention: "alone", prefix: [] } : { convention: "system", prefix: [0] });
        return prefixes
          .map(({ convention: made, prefix }) => {
            const before = prefix.map((one) => chunks[one]!);
            const key = variantKey(format, { chunk: chunk.chunk, convention: made, prefix: before });
            return { key, chunk, tokens, convention: made, prefix: before };
          })
          .filter((one) => !isThere(one));
      });
      // First contexts of all before what only helps where a chunk stands first.
      const isSecond = ({ convention: made, prefix }: WantedCache): number =>
        Number(made !== convention && prefix.length > 0);
      return all.sort((a, b) => isSecond(a) - isSecond(b));
    },
    async make(wanted, signal) {
      const { key, chunk, convention: made, prefix, tokens } = wanted;
      const parts = [...prefix, chunk].map(({ begin, tokens: length }) => tokens.subarray(begin, begin + length));
      const all = Int32Array.from(parts.flatMap((part) => [...part]));
      const begin = all.length - chunk.tokens;
      const isScored = mayScore(wanted);
      const exports = [{ begin, end: all.length }, ...(isScored ? scoredRanges(begin, all.length) : [])];
      const { blobs } = await context.run({ tokens: all, exports }, { signal });
      const [blob, ...caches] = blobs;
      const what = { id: scoreId(chunk, made), tokens: all, prefix: prefix.map((one) => one.tokens), caches };
      const impact = isScored ? await scorer?.score(what, signal) : undefined;
      const before = prefix.map(({ chunk: id, tokens: length }): PrefixChunk => ({ chunk: id, tokens: length }));
      const entry = { key, chunk: chunk.chunk, convention: made, tokens: chunk.tokens, prefix: before };
      if (blob !== undefined) await store.put({ ...entry, ...(impact && { impact }) }, blob).catch(() => undefined);
      return all.length + (impact === undefined ? 0 : chunk.tokens);
    },
  };
}
