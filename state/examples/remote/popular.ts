// LRU cache of examples that searches found, with their vectors. They are not read from Milvus
// again, and they are searched while it is away.
import { LRUCache } from "lru-cache";
import { dot } from "../../../algorithms/selection/embedding.ts";
import { traitsOf } from "../../../algorithms/selection/example-traits.ts";
import type { Candidate, HeldExample } from "../port.ts";
import { bytesHeld, bytesKept } from "../read-examples.ts";

interface Entry extends Omit<Candidate, "similarity"> {
  stamp: number;
}

/** Entries compared by one search, about a millisecond of work. */
const mostCompared = 4_096;

export type Popular = ReturnType<typeof createPopular>;

export function createPopular(mostBytes = bytesKept) {
  const byDomain = new Map<string, Set<string>>();
  const byId = new Map<string, string>();
  const entries = new LRUCache<string, Entry>({
    maxSize: mostBytes,
    sizeCalculation: bytesHeld,
    // An entry of the same key has the same domain and id.
    dispose({ example }, key, reason) {
      if (reason === "set") return;
      const keys = byDomain.get(example.domain);
      if (keys?.delete(key) === true && keys.size === 0) byDomain.delete(example.domain);
      if (byId.get(example.id) === key) byId.delete(example.id);
    },
  });

  return {
    /** undefined: not there, or not this version. */
    get(key: string, stamp: number): Entry | undefined {
      const entry = entries.get(key);
      return entry?.stamp === stamp ? entry : undefined;
    },
    put(key: string, stamp: number, example: HeldExample, vector: Float32Array): Entry {
      const entry = { example, vector, traits: traitsOf(example, vector), stamp };
      entries.set(key, entry);
      if (!entries.has(key)) return entry; // larger than the whole cache
      const keys = byDomain.get(example.domain) ?? new Set();
      byDomain.set(example.domain, keys.add(key));
      byId.set(example.id, key);
      return entry;
    },
    forget: (key: string): void => void entries.delete(key),
    find(id: string): HeldExample | undefined {
      const key = byId.get(id);
      return key === undefined ? undefined : entries.peek(key)?.example;
    },
    nearest(domain: string, query: Float32Array, k: number, now: number): Candidate[] {
      const found: Candidate[] = [];
      let compared = 0;
      for (const key of byDomain.get(domain) ?? []) {
        if (++compared > mostCompared) break;
        const entry = entries.peek(key);
        if (entry !== undefined && !isExpired(entry.example, now)) found.push(candidateOf(entry, query));
      }
      return nearestOf(found, k);
    },
    size: (): number => entries.size,
  };
}

export const isExpired = ({ expiresAt }: HeldExample, now: number): boolean => expiresAt !== null && expiresAt <= now;

export function candidateOf(
  { example, vector, traits }: Omit<Candidate, "similarity">,
  query: Float32Array,
): Candidate {
  return { example, vector, traits: traits ?? null, similarity: Math.max(-1, Math.min(1, dot(query, vector))) };
}

/** Removes duplicates: several partitions may have the same example. */
export function nearestOf(candidates: Candidate[], k: number): Candidate[] {
  const seen = new Set<string>();
  return candidates
    .sort((one, other) => other.similarity - one.similarity)
    .filter(({ example: { id } }) => !seen.has(id) && seen.add(id))
    .slice(0, k);
}
