// A process's cached answers within its byte budget, by the policy. From the topic
// `response-cache`; the newest counts; expired ones are gone. Never waits.
import type { CachePolicy } from "../../algorithms/response-cache/policy.ts";
import type { CacheEntry } from "../../schemas/types.ts";

export type CachedAnswer = Pick<
  CacheEntry,
  "requestId" | "text" | "finishReason" | "stopSequence" | "arm" | "model" | "cost"
>;

export interface CacheEntries {
  /** What came by the topic under that key; null: nothing may be given under it any more. */
  apply(key: string, answer: CacheEntry | null): void;
  /** A request asks for it. */
  find(key: string): CachedAnswer | undefined;
  /** The same without counting. */
  peek(key: string): CachedAnswer | undefined;
  /** So often it was asked for, by what is recorded. */
  asked(key: string, times: number): void;
  /** Drops what has expired. */
  sweep(): void;
  figures(): CacheEntryFigures;
}

export interface CacheEntryFigures {
  entries: number;
  /** As the policy counts them. */
  bytes: number;
  /** Since the process began, by why they left. */
  left: Readonly<Record<"evicted" | "expired" | "removed", number>>;
}

export interface CacheEntriesOptions {
  policy: CachePolicy;
  clock: () => number;
  /** Called for every usable entry, held here or not. */
  onAnswer?: (key: string, answer: CachedAnswer) => void;
}

/** Bytes of an entry beside its texts: keys, numbers, the policy's own. */
const overheadBytes = 1_024;
/** An answer that cost nothing is worth keeping, too, but less than any other. */
const leastCost = 1e-9;

export const entryKeyOf = (domain: string, hash: string): string => `${domain}/${hash}`;

export function createCacheEntries({ policy, clock, onAnswer }: CacheEntriesOptions): CacheEntries {
  const held = new Map<string, CacheEntry>();
  const left = { evicted: 0, expired: 0, removed: 0 };

  const remove = (key: string, why: keyof typeof left): void => {
    policy.remove(key);
    if (held.delete(key)) left[why]++;
  };
  const evict = (keys: readonly (string | number)[]): void => {
    for (const key of keys) if (held.delete(String(key))) left.evicted++;
  };

  return {
    apply(key, answer) {
      if (answer === null) {
        remove(key, "removed");
        return;
      }
      if (answer.expiresAt <= clock()) return;
      const known = held.get(key);
      if (known !== undefined && known.createdAt > answer.createdAt) return;
      const { admitted, evicted } = policy.answered(
        key,
        answer.bytes + overheadBytes,
        Math.max(answer.cost, leastCost),
      );
      evict(evicted);
      // Where it grew too large for the cache, what was held of it is gone.
      if (admitted && policy.has(key)) held.set(key, answer);
      else held.delete(key);
      onAnswer?.(key, answer);
    },
    find(key) {
      const known = held.get(key);
      if (known !== undefined && known.expiresAt <= clock()) remove(key, "expired");
      const { hit, evicted } = policy.arrive(key);
      evict(evicted);
      return hit ? held.get(key) : undefined;
    },
    peek(key) {
      const known = held.get(key);
      return known !== undefined && known.expiresAt > clock() ? known : undefined;
    },
    asked(key, times) {
      for (let i = 0; i < times; i++) evict(policy.arrive(key).evicted);
    },
    sweep() {
      const now = clock();
      for (const [key, { expiresAt }] of held) if (expiresAt <= now) remove(key, "expired");
    },
    figures: () => ({ entries: held.size, bytes: policy.used(), left: { ...left } }),
  };
}
