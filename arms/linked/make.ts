// Makes the caches that a convention wants of a prompt's chunks, before a request shows them. One
// prefill makes all that it passes, and computes only what is not cached exactly.
import { variantKey } from "../../connections/kv/keys.ts";
import type { Convention, KvListed, KvStore, PrefixChunk } from "../../connections/kv/port.ts";
import { chunkKind } from "../../algorithms/linked-prefill/link-policy.ts";
import type { LlamaContext, Prompt, Range } from "../../connections/llama/port.ts";
import { wantedPrefixes } from "./context.ts";
import { type ImpactScorer, scoredRanges } from "./impact.ts";
import type { KeyedPrompt } from "./plans.ts";
import { isExact, type KeyedChunk } from "./variants.ts";

export interface WantedCache {
  key: string;
  chunk: KeyedChunk;
  convention: Convention;
  prefix: readonly KeyedChunk[];
  /** The prompt that it was found in. */
  tokens: Int32Array;
}

export type CacheMaker = ReturnType<typeof createCacheMaker>;

export interface MadeCaches {
  /** Not wanted any more: they were made, or were there. */
  done: readonly WantedCache[];
  caches: number;
  /** Computed for them. */
  tokens: number;
}

export interface CacheMakerOptions {
  context: Pick<LlamaContext, "run">;
  store: Pick<KvStore, "variants" | "get" | "put">;
  format: string;
  convention: Convention;
  /** Scores caches of passages; absent: none is. */
  scorer?: ImpactScorer | undefined;
}

export function createCacheMaker({ context, store, format, convention, scorer }: CacheMakerOptions) {
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
    /** What the store has not, the more useful first; chained: as wantedPrefixes. */
    wanted({ tokens, chunks }: KeyedPrompt, chained: boolean = false): WantedCache[] {
      const all = chunks.flatMap((chunk, index) => {
        const prefixes = wantedPrefixes(chunks, index, convention, chained);
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
    /**
     * The first of them, and all whose prefix and chunk are what the same prefill begins with. A
     * cache that finds no room is lost: it is computed again when it is needed. Rejects with
     * LlamaError; caches that were made by then are kept, and wanted while they lack a score.
     */
    async make(wanted: readonly WantedCache[], signal: AbortSignal): Promise<MadeCaches> {
      const there = wanted.filter(isThere);
      const missing = wanted.filter((one) => !there.includes(one));
      const [first] = missing;
      if (first === undefined) return { done: there, caches: 0, tokens: 0 };
      const longest = missing.reduce((longer, one) => (isPassed(longer, one) ? one : longer), first);
      const caches = missing.filter((one) => one === longest || isPassed(one, longest));
      const tokens = tokensOf(longest);
      const ranges = caches.map((one) => rangesOf(one, mayScore(one)));
      const { links, linked } = await exactParts(longest);
      const { blobs } = await context.run({ tokens, links, exports: ranges.flat() }, { signal });
      let [at, scored] = [0, 0];
      let cancelled: unknown;
      for (const [i, one] of caches.entries()) {
        const { length } = ranges[i]!;
        const [blob, ...parts] = blobs.slice(at, (at += length));
        const isScored = parts.length > 0 && cancelled === undefined;
        const score = isScored ? scoreOf(one, parts, signal) : undefined;
        const impact = await score?.catch((error: unknown): undefined => {
          cancelled = error;
        });
        if (impact !== undefined) scored += one.chunk.tokens;
        const { key, chunk, convention: made, prefix: before } = one;
        const prefix = before.map(({ chunk: id, tokens: count }): PrefixChunk => ({ chunk: id, tokens: count }));
        const entry = { key, chunk: chunk.chunk, convention: made, tokens: chunk.tokens, prefix };
        if (blob !== undefined) await store.put({ ...entry, ...(impact && { impact }) }, blob).catch(() => undefined);
      }
      if (cancelled !== undefined) throw cancelled as Error;
      return { done: [...there, ...caches], caches: caches.length, tokens: tokens.length - linked + scored };
    },
  };

  /** What is cached exactly: only the rest is computed; nothing, where only scores are missing. */
  async function exactParts({ prefix, chunk: last }: WantedCache) {
    const links: NonNullable<Prompt["links"]>[number][] = [];
    let [position, linked] = [0, 0];
    for (const [i, { chunk, tokens: length }] of [...prefix, last].entries()) {
      const exact = store.variants(chunk).find((one) => isExact(one, prefix.slice(0, i)));
      const blob = exact && (await store.get(exact.key));
      if (blob !== undefined && blob !== null) {
        links.push({ blob, position });
        linked += length;
      }
      position += length;
    }
    return { links, linked };
  }

  function scoreOf(wanted: WantedCache, caches: readonly Uint8Array[], signal: AbortSignal) {
    const { chunk, convention: made, prefix } = wanted;
    const what = { id: scoreId(chunk, made), tokens: tokensOf(wanted), prefix: prefix.map(({ tokens }) => tokens) };
    return scorer?.score({ ...what, caches }, signal);
  }
}

function tokensOf({ prefix, chunk, tokens }: WantedCache): Int32Array {
  const parts = [...prefix, chunk].map(({ begin, tokens: length }) => tokens.subarray(begin, begin + length));
  return Int32Array.from(parts.flatMap((part) => [...part]));
}

/** Whether the one's prefix and chunk are what the other's begin with. */
function isPassed(one: WantedCache, by: WantedCache): boolean {
  const passed = [...by.prefix, by.chunk];
  const own = [...one.prefix, one.chunk];
  return own.length < passed.length && own.every(({ chunk }, i) => chunk === passed[i]?.chunk);
}

/** What a prefill exports for it: its cache, and if it is scored those that its scores need. */
function rangesOf({ prefix, chunk }: WantedCache, isScored: boolean): Range[] {
  const begin = prefix.reduce((sum, { tokens }) => sum + tokens, 0);
  const end = begin + chunk.tokens;
  return [{ begin, end }, ...(isScored ? scoredRanges(begin, end) : [])];
}
