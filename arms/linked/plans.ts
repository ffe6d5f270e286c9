// Plans of linked prompts: which cache stands for each chunk, loaded, which tokens are computed
// again, and which of several requests computes what is missing.
import { type Run, planRecompute, tokensIn } from "../../algorithms/linked-prefill/link-plan.ts";
import type { LinkPolicies } from "../../algorithms/linked-prefill/link-policy.ts";
import type { Convention, KvStore } from "../../connections/kv/port.ts";
import { type ChosenVariant, chooseVariants, type KeyedChunk } from "./variants.ts";

export interface KeyedPrompt {
  tokens: Int32Array;
  chunks: readonly KeyedChunk[];
}

/** Cached variants for a prompt, and which of its tokens are recomputed. */
export interface LinkedPlan {
  chosen: readonly ChosenVariant[];
  /** The caches, in the order of the chunks; null where one is missing or computed again whole. */
  blobs: readonly (Uint8Array | null)[];
  runs: readonly Run[];
}

export interface Claimed {
  plan: LinkedPlan;
  done: () => void;
}

export type LinkPlans = ReturnType<typeof createLinkPlans>;

// A cache that turns out to be damaged leaves the store, and the plan is made again without it.
const mostAttempts = 4;

export interface LinkPlansOptions {
  store: Pick<KvStore, "variants" | "get">;
  convention: Convention;
}

export function createLinkPlans({ store, convention }: LinkPlansOptions) {
  /** Chunks that a request is computing, by content, until they are in the store. */
  const underWay = new Map<string, Promise<void>>();

  /** As things are now. */
  async function load({ chunks }: KeyedPrompt, policy: LinkPolicies): Promise<LinkedPlan> {
    for (let attempt = 1; ; attempt += 1) {
      const given = attempt < mostAttempts ? store.variants : () => [];
      const chosen = chooseVariants(chunks, given, convention, policy);
      const runs = planRecompute(policy, chosen);
      const blobs = await Promise.all(
        chosen.map(async ({ variant, chunk }) => {
          if (variant === null || isComputedWhole(chunk, runs)) return null;
          return (await store.get(variant.key)) ?? undefined;
        }),
      );
      if (blobs.some((blob) => blob === undefined)) continue;
      return { chosen, runs, blobs: blobs.map((blob) => blob ?? null) };
    }
  }

  /** The plan, and the promise to compute what it misses: `done` must be called. */
  async function claim(prompt: KeyedPrompt, policy: LinkPolicies, signal: AbortSignal): Promise<Claimed> {
    for (;;) {
      const plan = await load(prompt, policy);
      const missing = missingOf(plan).map(({ chunk }) => chunk.chunk);
      const others = missing.flatMap((chunk) => underWay.get(chunk) ?? []);
      if (others.length > 0 && !signal.aborted) {
        await Promise.race([Promise.all(others), aborted(signal)]);
        continue;
      }
      // Another request may have computed chunks while the caches were loaded. From here on no
      // await until all are claimed.
      const now = chooseVariants(prompt.chunks, store.variants, convention).filter(({ variant }) => variant === null);
      if (now.length < missing.length && !signal.aborted) continue;
      let done = (): void => undefined;
      const work = new Promise<void>((resolve) => (done = resolve));
      for (const chunk of missing) underWay.set(chunk, work);
      return {
        plan,
        done: () => {
          for (const chunk of missing) if (underWay.get(chunk) === work) underWay.delete(chunk);
          done();
        },
      };
    }
  }

  return { load, claim };
}

/** Whether the chunk's cache would not be read: all of it is computed again. */
export const isComputedWhole = ({ begin, tokens }: KeyedChunk, runs: readonly Run[]): boolean =>
  runs.some(([a, b]) => a <= begin && begin + tokens <= b);

export const missingOf = ({ chosen }: LinkedPlan): ChosenVariant[] => chosen.filter(({ variant }) => variant === null);
export const linksOf = (
  chosen: readonly ChosenVariant[],
  blobs: readonly (Uint8Array | null)[],
  end: number,
  start = 0,
): { blob: Uint8Array; position: number }[] =>
  chosen.flatMap(({ chunk: { begin, tokens } }, index) => {
    const blob = blobs[index] ?? null;
    return blob === null || begin < start || begin + tokens > end ? [] : [{ blob, position: begin }];
  });

/** Resolves when the signal is aborted from now on. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

export function recomputedTokens({ chosen, runs }: Pick<LinkedPlan, "chosen" | "runs">): number {
  const within = ({ begin, tokens }: KeyedChunk): number =>
    runs.reduce((sum, [a, b]) => sum + Math.max(0, Math.min(b, begin + tokens) - Math.max(a, begin)), 0);
  return chosen.reduce((sum, { variant, chunk }) => sum + (variant === null ? 0 : within(chunk)), 0);
}

export function computedShare({ chosen, runs }: Pick<LinkedPlan, "chosen" | "runs">): number {
  const total = chosen.reduce((sum, { length }) => sum + length, 0);
  return total === 0 ? 0 : tokensIn(runs) / total;
}
