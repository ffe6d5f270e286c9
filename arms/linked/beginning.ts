// How a linked prompt begins: from chunk caches, an earlier prompt's beginning, or in full, and
// what is kept of it. Uncached chunks are kept from that very prefill.
import {
  type LinkPolicies,
  linksNothing,
  policiesName,
  policiesOf,
} from "../../algorithms/linked-prefill/link-policy.ts";
import { variantKey } from "../../connections/kv/keys.ts";
import type { Convention, KvEntry, KvStore } from "../../connections/kv/port.ts";
import type { LlamaContext, Range, RunOptions, RunResult } from "../../connections/llama/port.ts";
import { type KeyedPrompt, type LinkedPlan, type LinkPlans, linksOf, missingOf, recomputedTokens } from "./plans.ts";
import type { KeyedChunk } from "./variants.ts";
import type { Conversation, PrefixCache } from "./prefix-cache.ts";

/** What is answered: its chunks, and where its conversation may be gone on with. */
export type ConversationPrompt = KeyedPrompt & Conversation & { domain: string };

export interface Beginning {
  links: { blob: Uint8Array; position: number }[];
  recompute: Range[];
  /** Tokens among the links that were computed for this very prompt. */
  computed: number;
  /** Tokens that are, or were, computed although a cache of them was there. */
  recomputed: number;
  /** Parts of the prompt that `keep` wants the caches of once it was run. */
  exports: Range[];
  keep(blobs: readonly Uint8Array[]): Promise<void>;
}

export interface BeginningsOptions {
  context: Pick<LlamaContext, "run">;
  store: Pick<KvStore, "put" | "used">;
  plans: LinkPlans;
  /** Hash of the format of the context's caches. */
  format: string;
  convention: Convention;
  prefixes?: PrefixCache | undefined;
  /** Whether chunks of prompts prefilled in full are cached. Default true. */
  keepInFull?: boolean | undefined;
}

export type BeginningOptions = Pick<RunOptions, "onProgress"> & { signal: AbortSignal; keep: boolean };

export function createBeginnings(options: BeginningsOptions) {
  const { context, store, plans, format, convention, prefixes, keepInFull = true } = options;

  /** Links nothing, so that a prompt is computed alike whatever was asked before. */
  async function inFull(prompt: KeyedPrompt, policy: LinkPolicies): Promise<Beginning> {
    const plan = await plans.load(prompt, policy);
    const missing = keepInFull ? missingIndices(plan) : [];
    return {
      ...{ links: [], recompute: [], computed: 0, recomputed: recomputedTokens(plan) },
      exports: missing.map((index) => rangeOf(prompt.chunks[index]!)),
      keep: (blobs) => keepSeen(prompt.chunks, missing, blobs, () => true),
    };
  }

  async function linked(prompt: KeyedPrompt, policy: LinkPolicies, running: BeginningOptions): Promise<Beginning> {
    const { plan, done } = await plans.claim(prompt, policy, running.signal);
    const { chosen, blobs, runs } = plan;
    const filling = missingOf(plan).length > 0 ? fill(prompt, plan, running) : Promise.resolve(null);
    const filled = await filling.finally(done);
    for (const { variant, score } of chosen) if (variant !== null) store.used(variant.key, score);
    const end = filled?.end ?? 0;
    const whole = filled?.blobs[0];
    return {
      links: [...(whole === undefined ? [] : [{ blob: whole, position: 0 }]), ...linksOf(chosen, blobs, Infinity, end)],
      recompute: runs.flatMap(([a, b]) => (b > end ? [{ begin: Math.max(a, end), end: b }] : [])),
      computed: end - (filled?.linked ?? 0),
      recomputed: recomputedTokens(plan),
      ...{ exports: [], keep: () => Promise.resolve() },
    };
  }

  /** Computes up to the last missing chunk and keeps what was missing; returns that cache. */
  async function fill(
    { tokens, chunks }: KeyedPrompt,
    plan: LinkedPlan,
    running: BeginningOptions,
  ): Promise<RunResult & { end: number }> {
    const { chosen, blobs, runs } = plan;
    const missing = missingIndices(plan);
    const { end } = rangeOf(chunks[missing.at(-1) ?? 0]!);
    const result = await context.run(
      {
        tokens: tokens.subarray(0, end),
        links: linksOf(chosen, blobs, end),
        recompute: runs.flatMap(([a, b]) => (a < end ? [{ begin: a, end: Math.min(b, end) }] : [])),
        exports: [{ begin: 0, end }, ...missing.map((index) => rangeOf(chunks[index]!))],
      },
      running,
    );
    const isPure = (index: number): boolean => chosen.slice(0, index).every(({ state }) => state !== "linked");
    await keepSeen(chunks, missing, result.blobs.slice(1), isPure);
    return { ...result, end };
  }

  /** Stores chunks as seen in a prompt; isPure: nothing before the chunk was linked. */
  async function keepSeen(
    chunks: readonly KeyedChunk[],
    missing: readonly number[],
    blobs: readonly Uint8Array[],
    isPure: (index: number) => boolean,
  ): Promise<void> {
    for (const [order, index] of missing.entries()) {
      const blob = blobs[order];
      // What was seen behind anything is of no use to an arm that links what was made behind the
      // system prompt, or alone.
      const isWanted = index === 0 || (convention !== "alone" && convention !== "system");
      if (blob === undefined || !isWanted) continue;
      // Larger than the store: it is computed again next time.
      await store.put(seenEntry(chunks, index, isPure(index)), blob).catch(() => undefined);
    }
  }

  function seenEntry(
    chunks: readonly KeyedChunk[],
    index: number,
    pure: boolean,
  ): Omit<KvEntry, "bytes" | "createdAt"> {
    const { chunk, tokens } = chunks[index]!;
    const prefix = chunks.slice(0, index).map((before) => ({ chunk: before.chunk, tokens: before.tokens }));
    const made = index === 0 ? "alone" : pure ? "seen" : "linked";
    return { key: variantKey(format, { chunk, convention: made, prefix }), chunk, convention: made, tokens, prefix };
  }

  /** The same, and what the conversation may be gone on with is kept too. */
  function keeping(
    beginning: Beginning,
    kept: PrefixCache,
    prompt: ConversationPrompt,
    how: string,
    from: number,
  ): Beginning {
    const end = prompt.turnEnds.at(-1) ?? 0;
    if (end <= from) return beginning;
    return {
      ...beginning,
      exports: [...beginning.exports, { begin: 0, end }],
      async keep(blobs) {
        await beginning.keep(blobs);
        const blob = blobs.at(-1);
        if (blob !== undefined) kept.keep(prompt, how, { blob, end });
      },
    };
  }

  return {
    async of(prompt: ConversationPrompt, policy: LinkPolicies, running: BeginningOptions): Promise<Beginning> {
      if (!running.keep) return untouched();
      if (linksNothing(policiesOf(policy, prompt.chunks))) return inFull(prompt, policy);
      if (prefixes === undefined) return linked(prompt, policy, running);
      const how = `${policiesName(policy)} ${prompt.domain}`;
      const prefix = prefixes.longest(prompt, how);
      if (prefix === null) return keeping(await linked(prompt, policy, running), prefixes, prompt, how, 0);
      const { blob, end } = prefix;
      const begun = { links: [{ blob, position: 0 }], recompute: [], computed: 0, recomputed: 0 };
      return keeping({ ...begun, exports: [], keep: () => Promise.resolve() }, prefixes, prompt, how, end);
    },
  };
}

/** As if there were no caches. */
const untouched = (): Beginning => ({
  ...{ links: [], recompute: [], computed: 0, recomputed: 0, exports: [] },
  keep: () => Promise.resolve(),
});

const missingIndices = ({ chosen }: LinkedPlan): number[] =>
  chosen.flatMap(({ variant }, index) => (variant === null ? [index] : []));

const rangeOf = ({ begin, tokens }: KeyedChunk): Range => ({ begin, end: begin + tokens });
