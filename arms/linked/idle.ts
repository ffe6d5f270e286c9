// Idle work of a llama arm: caches that its convention wants, and comparisons with full prefills.
// Both queues are bounded; what does not fit is dropped.
import { kindsOf, type LinkPolicies, parsePolicies } from "../../algorithms/linked-prefill/link-policy.ts";
import { compareLogits } from "../../algorithms/text/teacher-forced.ts";
import { computedShare, type KeyedPrompt } from "./plans.ts";
import type { CacheMaker, MadeCaches, WantedCache } from "./make.ts";
import type { LinkedModel } from "./model.ts";

/** The policy of a name for this prompt: by the kinds of its chunks; null: nothing. */
function policyFor(name: string, { chunks }: KeyedPrompt): LinkPolicies | null {
  const [, kind, policy] = /^(short|long):([^,]+)$/.exec(name) ?? [];
  const kinds = kindsOf(chunks);
  if (policy !== undefined && (kinds.length !== 1 || kinds[0] !== kind)) return null;
  const parsed = parsePolicies(policy ?? name);
  return "problem" in parsed || ("short" in parsed && kinds.length < 2) ? null : parsed;
}

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

export type IdleWork = ReturnType<typeof createIdleWork>;

export interface IdleOptions {
  model: LinkedModel;
  maker: CacheMaker;
  vocabulary: number;
}

const mostWanted = 256;
const mostComparisons = 8;
/** Tokens of an answer that are compared: what is wrong with a prompt shows at its beginning. */
const comparedTokens = 8;

/** Leaves the queue when it is done or failed. A request in between ends it; it is repeated. */
async function once<Result>(
  signal: AbortSignal,
  take: (result?: Result) => unknown,
  work: Promise<Result>,
): Promise<Result> {
  try {
    const result = await work;
    take(result);
    return result;
  } catch (error) {
    if (!signal.aborted) take();
    throw error;
  }
}

export function createIdleWork({ model, maker, vocabulary }: IdleOptions) {
  const wanted = new Map<string, WantedCache>();
  const comparisons: { prompt: KeyedPrompt; answer: Int32Array; what: Comparison }[] = [];

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
      const policy = policyFor(name, prompt);
      if (policy === null) continue;
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
    seen(prompt: KeyedPrompt): void {
      for (const one of maker.wanted(prompt)) {
        const isSame = (other: WantedCache): boolean =>
          other.chunk.chunk === one.chunk.chunk && other.convention === one.convention;
        if (wanted.size < mostWanted && ![...wanted.values()].some(isSame)) wanted.set(one.key, one);
      }
    },
    forget(chunks: ReadonlySet<string>): void {
      for (const [key, { chunk, prefix }] of wanted)
        if ([chunk, ...prefix].some((one) => chunks.has(one.chunk))) wanted.delete(key);
    },
    compare(prompt: KeyedPrompt, answer: Int32Array, what: Comparison): void {
      // Without a policy a prefill in full would have nothing beside it.
      const policies = what.policies.filter((name) => policyFor(name, prompt) !== null);
      const comparable = answer.length > 0 && prompt.chunks.length > 0 && policies.length > 0;
      if (comparable && comparisons.length < mostComparisons)
        comparisons.push({ prompt, answer, what: { ...what, policies } });
    },
    /** Does one thing; samples are what came of it. Rejects with what the model rejects with. */
    async next(signal: AbortSignal): Promise<{ more: boolean; samples: Sample[] }> {
      const [first] = wanted.values();
      if (first !== undefined) {
        const take = (made?: MadeCaches): void => {
          for (const { key } of made?.done ?? [first]) wanted.delete(key);
        };
        await once(signal, take, maker.make([...wanted.values()], signal));
        return { more: wanted.size + comparisons.length > 0, samples: [] };
      }
      const [comparison] = comparisons;
      if (comparison === undefined) return { more: false, samples: [] };
      const { prompt, answer, what } = comparison;
      const samples = await once(signal, () => comparisons.shift(), measure(prompt, answer, what, signal));
      return { more: comparisons.length > 0, samples };
    },
  };
}
