// Answers prompts whose chunks are linked from caches. Knows no process and no configuration file.
import type { LinkPolicies } from "../../algorithms/linked-prefill/link-policy.ts";
import { chunkKey, everybody } from "../../connections/kv/keys.ts";
import type { Convention, KvStore } from "../../connections/kv/port.ts";
import type { LlamaContext, Prompt, RunResult } from "../../connections/llama/port.ts";
import { type ConversationPrompt, createBeginnings } from "./beginning.ts";
import { createLinkPlans, type KeyedPrompt, type LinkedPlan, linksOf, missingOf } from "./plans.ts";
import type { ChunkedPrompt } from "./prompt.ts";
import type { PrefixCache } from "./prefix-cache.ts";

export interface LinkedModelOptions {
  context: Pick<LlamaContext, "run">;
  store: Pick<KvStore, "variants" | "get" | "put" | "used">;
  /** Hash of the format of the context's caches. */
  format: string;
  convention: Convention;
  /** Prefixes of answered prompts; absent: each prompt starts from its first token. */
  prefixes?: PrefixCache;
  keepInFull?: boolean;
}

export type Answering = Pick<Prompt, "maxTokens" | "temperature" | "topP" | "seed" | "stop">;
export interface AnswerOptions {
  signal: AbortSignal;
  onText?: (text: string) => void;
  onProgress: () => void;
  /** Whether anything of the prompt is linked or kept; false prefills it in full. */
  keep: boolean;
}

export interface Answered {
  result: RunResult;
  /** Prompt tokens linked, recomputed although cached, and uncached; together the prompt. */
  linked: number;
  recomputed: number;
  prefilled: number;
  firstTokenMs: number | null;
}

export type LinkedModel = ReturnType<typeof createLinkedModel>;

export function createLinkedModel({ context, store, format, convention, prefixes, keepInFull }: LinkedModelOptions) {
  const plans = createLinkPlans({ store, convention });
  const beginnings = createBeginnings({ context, store, plans, format, convention, prefixes, keepInFull });

  /** Caches are those of the sharing domain, and of what is configured. */
  function keyed({ tokens, chunks, turnEnds }: ChunkedPrompt, domain: string): ConversationPrompt {
    return {
      ...{ tokens, turnEnds, domain },
      chunks: chunks.map(({ begin, end, configured }) => {
        const chunk = chunkKey(format, configured ? everybody : domain, Array.from(tokens.subarray(begin, end)));
        return { chunk, begin, tokens: end - begin };
      }),
    };
  }

  /** Rejects with LlamaError. */
  async function answer(
    prompt: ConversationPrompt,
    policy: LinkPolicies,
    wanted: Answering,
    options: AnswerOptions,
  ): Promise<Answered> {
    const { signal, onText, onProgress } = options;
    const called = performance.now();
    const { links, recompute, computed, recomputed, exports, keep } = await beginnings.of(prompt, policy, options);
    const started = performance.now();
    const result = await context.run(
      { ...wanted, tokens: prompt.tokens, links, recompute, exports },
      { signal, onProgress, ...(onText && { onText }) },
    );
    await keep(result.blobs);
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
    /** What would be done now; null where a chunk is missing. */
    async plan(prompt: KeyedPrompt, policy: LinkPolicies): Promise<LinkedPlan | null> {
      const plan = await plans.load(prompt, policy);
      return missingOf(plan).length > 0 ? null : plan;
    },
    answer,
    /** Prompts may have logits wanted instead of an answer. */
    run: (
      prompt: KeyedPrompt,
      plan: LinkedPlan | null,
      more: Partial<Prompt>,
      signal: AbortSignal,
    ): Promise<RunResult> =>
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
