// Answers prompts whose chunks are linked from caches. What is missing is computed as in any prefill and cached from that very prefill; a chunk
// that another request is computing is waited for. A prompt that begins like one answered before goes on from there. Knows no process and no
// configuration file: llama-worker.ts and bench/linked use it.
import { type LinkPolicy, policyName } from "../algorithms/link-policy.ts";
import type { Random } from "../algorithms/random.ts";
import { chunkKey, variantKey } from "../connections/kv/keys.ts";
import type { Convention, KvEntry, KvStore } from "../connections/kv/port.ts";
import type { LlamaContext, Prompt, RunResult } from "../connections/llama/port.ts";
import {
  createLinkPlans,
  type LinkPlansOptions,
  type KeyedPrompt,
  type LinkedPlan,
  linksOf,
  missingOf,
  recomputedTokens,
} from "./link-plans.ts";
import type { ChosenVariant, KeyedChunk } from "./link-variants.ts";
import type { ChunkedPrompt } from "./linked-prompt.ts";
import type { Conversation, Prefix, PrefixCache } from "./prefix-cache.ts";

export interface LinkedModelOptions {
  context: Pick<LlamaContext, "run">;
  store: Pick<KvStore, "variants" | "get" | "put" | "used">;
  /** Hash of the format of the context's caches. */
  format: string;
  convention: Convention;
  random: Random;
  /** As LinkPlansOptions has it. */
  deviations?: LinkPlansOptions["deviations"];
  scorer?: LinkPlansOptions["scorer"];
  /** Beginnings of prompts that were answered; without it each prompt begins anew. */
  prefixes?: PrefixCache;
}

/** What is answered: its chunks, and where its conversation may be gone on with. */
export type ConversationPrompt = KeyedPrompt & Conversation;

export type Answering = Pick<Prompt, "maxTokens" | "temperature" | "topP" | "seed" | "stop">;
export interface AnswerOptions {
  signal: AbortSignal;
  onText?: (text: string) => void;
  onProgress: () => void;
}

export interface Answered {
  result: RunResult;
  /** Tokens of the prompt, together all of it: linked, computed although a cache was there, computed for there was none. */
  linked: number;
  recomputed: number;
  prefilled: number;
  /** Milliseconds from the call to the first token; null without one. */
  firstTokenMs: number | null;
}

export interface LinkedModel {
  keyed(prompt: ChunkedPrompt): ConversationPrompt;
  /** What would be done now; null where a chunk is missing. */
  plan(prompt: KeyedPrompt, policy: LinkPolicy): Promise<LinkedPlan | null>;
  /** Rejects with LlamaError. */
  answer(prompt: ConversationPrompt, policy: LinkPolicy, wanted: Answering, options: AnswerOptions): Promise<Answered>;
  /** Prompts may have logits wanted instead of an answer. */
  run(prompt: KeyedPrompt, plan: LinkedPlan | null, more: Partial<Prompt>, signal: AbortSignal): Promise<RunResult>;
}

export function createLinkedModel({
  context,
  store,
  format,
  convention,
  random,
  deviations,
  scorer,
  prefixes,
}: LinkedModelOptions): LinkedModel {
  const plans = createLinkPlans({ store, convention, random, deviations, scorer });
  function keyed({ tokens, chunks, turnEnds }: ChunkedPrompt): ConversationPrompt {
    return {
      ...{ tokens, turnEnds },
      chunks: chunks.map(({ begin, end }) => {
        return { chunk: chunkKey(format, Array.from(tokens.subarray(begin, end))), begin, tokens: end - begin };
      }),
    };
  }

  /** Computes the prompt up to the end of its last missing chunk and keeps what was missing; the cache of all of that. */
  async function fill(
    { tokens, chunks }: KeyedPrompt,
    { chosen, blobs, runs }: LinkedPlan,
    { signal, onProgress }: AnswerOptions,
  ): Promise<RunResult & { end: number }> {
    const missing = chosen.flatMap(({ variant }, index) => (variant === null ? [index] : []));
    const last = chunks[missing.at(-1) ?? 0]!;
    const end = last.begin + last.tokens;
    const result = await context.run(
      {
        tokens: tokens.subarray(0, end),
        links: linksOf(chosen, blobs, end),
        recompute: runs.flatMap(([a, b]) => (a < end ? [{ begin: a, end: Math.min(b, end) }] : [])),
        exports: [{ begin: 0, end }, ...missing.map((index) => rangeOf(chunks[index]!))],
      },
      { signal, onProgress },
    );
    for (const [order, index] of missing.entries()) {
      const blob = result.blobs[order + 1];
      // Larger than the store: it is computed again next time.
      if (blob !== undefined && keeps(index))
        await store.put(seenEntry(chunks, index, chosen), blob).catch(() => undefined);
    }
    return { ...result, end };
  }

  /** What was seen behind anything is of no use to an arm that links what was made behind the system prompt, or alone. */
  const keeps = (index: number): boolean => index === 0 || (convention !== "alone" && convention !== "system");

  function seenEntry(
    chunks: readonly KeyedChunk[],
    index: number,
    chosen: readonly ChosenVariant[],
  ): Omit<KvEntry, "bytes" | "createdAt"> {
    const { chunk, tokens } = chunks[index]!;
    const prefix = chunks
      .slice(0, index)
      .map(({ chunk: before, tokens: length }) => ({ chunk: before, tokens: length }));
    const pure = chosen.slice(0, index).every(({ state }) => state !== "linked");
    const made = index === 0 ? "alone" : pure ? "seen" : "linked";
    return { key: variantKey(format, { chunk, convention: made, prefix }), chunk, convention: made, tokens, prefix };
  }

  /** How the prompt begins: linked from chunk caches, what was missing of them computed and kept. */
  async function linkedBeginning(prompt: KeyedPrompt, policy: LinkPolicy, options: AnswerOptions): Promise<Beginning> {
    const { plan, done } = await plans.claim(prompt, policy, options.signal);
    const { chosen, blobs, runs } = plan;
    const filling = missingOf(plan).length > 0 ? fill(prompt, plan, options) : Promise.resolve(null);
    const filled = await filling.finally(done);
    for (const { variant, score } of chosen) if (variant !== null) store.used(variant.key, score);
    const end = filled?.end ?? 0;
    const whole = filled?.blobs[0];
    return {
      links: [...(whole === undefined ? [] : [{ blob: whole, position: 0 }]), ...linksOf(chosen, blobs, Infinity, end)],
      recompute: runs.flatMap(([a, b]) => (b > end ? [{ begin: Math.max(a, end), end: b }] : [])),
      computed: end - (filled?.linked ?? 0),
      recomputed: recomputedTokens(plan),
    };
  }

  async function answer(
    prompt: ConversationPrompt,
    policy: LinkPolicy,
    wanted: Answering,
    options: AnswerOptions,
  ): Promise<Answered> {
    const { signal, onText, onProgress } = options;
    const called = performance.now();
    const how = policyName(policy);
    const prefix = prefixes?.longest(prompt, how) ?? null;
    const beginning = prefix === null ? await linkedBeginning(prompt, policy, options) : behind(prefix);
    const { links, recompute, computed, recomputed } = beginning;
    const end = prompt.turnEnds.at(-1);
    const kept = prefixes !== undefined && end !== undefined && end !== prefix?.end ? [{ begin: 0, end }] : [];
    const started = performance.now();
    const result = await context.run(
      { ...wanted, tokens: prompt.tokens, links, recompute, exports: kept },
      { signal, onProgress, ...(onText && { onText }) },
    );
    const [blob] = result.blobs;
    if (blob !== undefined && end !== undefined) prefixes?.keep(prompt, how, { blob, end });
    const { firstMs, queuedMs } = result.timings;
    const linked = result.linked - computed;
    return {
      result,
      linked,
      recomputed,
      prefilled: prompt.tokens.length - linked - recomputed,
      firstTokenMs: firstMs > 0 ? started - called + queuedMs + firstMs : null,
    };
  }

  return {
    keyed,
    async plan(prompt, policy) {
      const plan = await plans.load(prompt, policy);
      return missingOf(plan).length > 0 ? null : plan;
    },
    answer,
    run: (prompt, plan, more, signal) =>
      context.run(
        {
          tokens: prompt.tokens,
          links: plan === null ? [] : linksOf(plan.chosen, plan.blobs, Infinity),
          recompute: plan?.runs.map(([begin, end]) => ({ begin, end })) ?? [],
          ...more,
        },
        { signal },
      ),
  };
}

/** What is there before a prompt is run. */
interface Beginning {
  links: { blob: Uint8Array; position: number }[];
  recompute: { begin: number; end: number }[];
  /** Tokens among the links that were computed for this very prompt. */
  computed: number;
  /** Tokens that are, or were, computed although a cache of them was there. */
  recomputed: number;
}

const behind = ({ blob }: Prefix): Beginning => ({
  links: [{ blob, position: 0 }],
  ...{ recompute: [], computed: 0, recomputed: 0 },
});

const rangeOf = ({ begin, tokens }: KeyedChunk) => ({ begin, end: begin + tokens });
