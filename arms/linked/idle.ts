// Idle work of a llama arm: caches that its convention wants, and comparisons with full prefills.
// Both queues are bounded; what does not fit is dropped.
import { parsePolicy } from "../../algorithms/linked-prefill/link-policy.ts";
import { compareLogits } from "../../algorithms/text/teacher-forced.ts";
import { variantKey } from "../../connections/kv/keys.ts";
import type { Convention, KvListed, KvStore, PrefixChunk } from "../../connections/kv/port.ts";
import type { LlamaContext } from "../../connections/llama/port.ts";
import { wantedPrefixes } from "./context.ts";
import { computedShare, type KeyedPrompt } from "./plans.ts";
import type { KeyedChunk } from "./variants.ts";
import type { LinkedModel } from "./model.ts";

/** A linked prefill beside a full one. */
export interface Sample {
  requestId: string;
  tenant: string;
  policy: string;
  recomputedShare: number;
  /** Mean over the answer's tokens, nats. */
  kl: number;
  /** Share of equal greedy tokens, [0, 1]. */
  agreement: number;
}

export interface Comparison {
  requestId: string;
  tenant: string;
  policies: readonly string[];
}

export interface IdleWork {
  seen(prompt: KeyedPrompt): void;
  compare(prompt: KeyedPrompt, answer: Int32Array, what: Comparison): void;
  forget(chunks: ReadonlySet<string>): void;
  /** Does one thing; samples are what came of it. Rejects with what the model rejects with. */
  next(signal: AbortSignal): Promise<{ more: boolean; samples: Sample[] }>;
}

export interface IdleOptions {
  model: LinkedModel;
  context: Pick<LlamaContext, "run">;
  store: Pick<KvStore, "variants" | "put">;
  format: string;
  convention: Convention;
  vocabulary: number;
}

interface Wanted {
  key: string;
  chunk: KeyedChunk;
  convention: Convention;
  prefix: readonly KeyedChunk[];
  tokens: Int32Array;
}

const mostWanted = 256;
const mostComparisons = 8;
/** Tokens of an answer that are compared: what is wrong with a prompt shows at its beginning. */
const comparedTokens = 8;

export function createIdleWork({ model, context, store, format, convention, vocabulary }: IdleOptions): IdleWork {
  const wanted = new Map<string, Wanted>();
  const comparisons: { prompt: KeyedPrompt; answer: Int32Array; what: Comparison }[] = [];

  /** One of a kind is enough; a seen one is as good behind the system prompt alone. */
  const isThere = (chunk: KeyedChunk, made: Convention): boolean => {
    const isSame = (one: KvListed): boolean =>
      made !== convention && one.convention === "seen" && one.prefix.length === 1;
    return store.variants(chunk.chunk).some((one) => one.convention === made || isSame(one));
  };

  async function make({ key, chunk, convention: made, prefix, tokens }: Wanted, signal: AbortSignal): Promise<void> {
    const parts = [...prefix, chunk].map(({ begin, tokens: length }) => tokens.subarray(begin, begin + length));
    const all = Int32Array.from(parts.flatMap((part) => [...part]));
    const exports = [{ begin: all.length - chunk.tokens, end: all.length }];
    const { blobs } = await context.run({ tokens: all, exports }, { signal });
    const before = prefix.map(({ chunk: id, tokens: length }): PrefixChunk => ({ chunk: id, tokens: length }));
    const entry = { key, chunk: chunk.chunk, convention: made, tokens: chunk.tokens, prefix: before };
    const [blob] = blobs;
    if (blob !== undefined) await store.put(entry, blob).catch(() => undefined);
  }

  async function measure(prompt: KeyedPrompt, answer: Int32Array, what: Comparison, signal: AbortSignal) {
    const forced = answer.subarray(0, comparedTokens);
    const length = prompt.tokens.length;
    const all = new Int32Array(length + forced.length - 1);
    all.set(prompt.tokens);
    all.set(forced.subarray(0, -1), length);
    const whole = { ...prompt, tokens: all };
    const logitsAt = Array.from(forced, (_, index) => length - 1 + index);
    const full = await model.run(whole, null, { logitsAt }, signal);
    const samples: Sample[] = [];
    for (const name of what.policies) {
      const policy = parsePolicy(name);
      if ("problem" in policy) continue;
      const plan = await model.plan(prompt, policy);
      if (plan === null) continue;
      const linked = await model.run(whole, plan, { logitsAt }, signal);
      const found = compareLogits(full.logits, linked.logits, vocabulary);
      const { requestId, tenant } = what;
      samples.push({ requestId, tenant, policy: name, recomputedShare: computedShare(plan), ...found });
    }
    return samples;
  }

  return {
    seen({ tokens, chunks }) {
      const all = chunks.flatMap((chunk, index) =>
        wantedPrefixes(chunks, index, convention).map(({ convention: made, prefix }) => {
          return { chunk, tokens, convention: made, prefix: prefix.map((one) => chunks[one]!) };
        }),
      );
      // First contexts of all before what only helps where a chunk stands first.
      const isSecond = (one: { convention: Convention }): number => Number(one.convention !== convention);
      for (const one of all.sort((a, b) => isSecond(a) - isSecond(b))) {
        if (wanted.size >= mostWanted || isThere(one.chunk, one.convention)) continue;
        const key = variantKey(format, { ...one, chunk: one.chunk.chunk });
        const isSame = (other: Wanted): boolean =>
          other.chunk.chunk === one.chunk.chunk && other.convention === one.convention;
        if (![...wanted.values()].some(isSame)) wanted.set(key, { key, ...one });
      }
    },
    forget(chunks) {
      for (const [key, { chunk, prefix }] of wanted)
        if ([chunk, ...prefix].some((one) => chunks.has(one.chunk))) wanted.delete(key);
    },
    compare(prompt, answer, what) {
      // Without a policy a prefill in full would have nothing beside it.
      const comparable = answer.length > 0 && prompt.chunks.length > 0 && what.policies.length > 0;
      if (comparable && comparisons.length < mostComparisons) comparisons.push({ prompt, answer, what });
    },
    async next(signal) {
      const [first] = wanted.values();
      if (first !== undefined) {
        // Gone from the queue only when it is made: a request that comes in between ends it.
        await make(first, signal);
        wanted.delete(first.key);
        return { more: wanted.size + comparisons.length > 0, samples: [] };
      }
      const [comparison] = comparisons;
      if (comparison === undefined) return { more: false, samples: [] };
      const samples = await measure(comparison.prompt, comparison.answer, comparison.what, signal);
      comparisons.shift();
      return { more: comparisons.length > 0, samples };
    },
  };
}
