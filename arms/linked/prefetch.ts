// Prefetches caches of waiting requests into memory in order of arrival and pins them until the
// request is over. One that does not fit waits. Errors never fail a request.
import pLimit from "p-limit";
import { planRecompute } from "../../algorithms/linked-prefill/link-plan.ts";
import type { LinkPolicies } from "../../algorithms/linked-prefill/link-policy.ts";
import type { Convention, KvStore } from "../../connections/kv/port.ts";
import { aborted, isComputedWhole, type KeyedPrompt } from "./plans.ts";
import { chooseVariants } from "./variants.ts";

export interface PrefetcherOptions {
  store: Pick<KvStore, "variants" | "prefetch">;
  convention: Convention;
  most?: number;
}

export type Prefetcher = ReturnType<typeof createPrefetcher>;

export function createPrefetcher({ store, convention, most = 64 }: PrefetcherOptions) {
  const line = pLimit(1);
  let keeping = 0;
  let wake = (): void => undefined;
  const nextRelease = () => new Promise<void>((resolve) => (wake = resolve));
  let freed = nextRelease();

  /** Keys of what the request would read now. */
  function keysOf({ chunks }: KeyedPrompt, policy: LinkPolicies): string[] {
    const chosen = chooseVariants(chunks, store.variants, convention, policy);
    const runs = planRecompute(policy, chosen);
    return chosen.flatMap(({ variant, chunk }) =>
      variant === null || isComputedWhole(chunk, runs) ? [] : [variant.key],
    );
  }

  async function fetched(
    prompt: () => KeyedPrompt,
    policy: LinkPolicies,
    over: AbortSignal,
    ended: Promise<void>,
  ): Promise<(() => void) | null> {
    if (over.aborted) return null;
    const keyed = prompt();
    while (!over.aborted) {
      const room = freed;
      const keys = keysOf(keyed, policy);
      const release = keys.length === 0 ? null : await store.prefetch(keys, over);
      if (release !== null || keys.length === 0) return release;
      // No other prefetch holds memory that it could release.
      if (keeping === 0) return null;
      await Promise.race([room, ended]);
    }
    return null;
  }

  return {
    /** Resolves when `over` is aborted, or there is nothing to keep. */
    async waiting(prompt: () => KeyedPrompt, policy: LinkPolicies, over: AbortSignal): Promise<void> {
      if (over.aborted || line.pendingCount + line.activeCount >= most) return;
      const ended = aborted(over);
      const release = await line(async () => {
        const found = await fetched(prompt, policy, over, ended);
        if (found !== null) keeping++;
        return found;
      });
      if (release === null) return;
      if (!over.aborted) await ended;
      release();
      keeping--;
      wake();
      freed = nextRelease();
    },
  };
}
