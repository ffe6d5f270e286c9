// The paper's offline policy: the oracle is asked in every round, and the cache becomes what it
// says at once, since all answers are kept beside it. No real cache can do that: it shows what
// waiting for the next arrival costs.
import { HIT, MISS, type CachePolicy, type Id } from "../../algorithms/response-cache/policy.ts";
import type { KnapsackItem } from "../../algorithms/selection/knapsack.ts";
import { leastWorth, type Counts } from "./bounds.ts";
import type { Stream } from "./stream.ts";

interface Query extends Counts {
  id: Id;
  size: number;
}

export interface OfflineOptions {
  solve: (items: readonly KnapsackItem[], capacity: number) => number[];
  /** 1: the bounds of the paper; 0: means. */
  scale: number;
}

export function createOffline({ capacity, queries, sizes }: Stream, { solve, scale }: OfflineOptions): CachePolicy {
  const worth = leastWorth({ rounds: queries.length, queries: sizes.length }, scale, 1);
  const seen = new Map<Id, Query>();
  let held = new Map<Id, number>();
  let [now, used] = [0, 0];
  const least = (query: Query): number => worth(query, now);

  function choose(): void {
    const all = [...seen.values()].filter(({ misses }) => misses > 0);
    const chosen = solve(
      all.map((one) => ({ value: least(one), weight: one.size })),
      capacity,
    ).map((index) => all[index]!);
    // As with the repaired VSOCB: an oracle to which nothing is worth anything changes nothing.
    if (!chosen.some((one) => least(one) > 0)) return;
    held = new Map(chosen.map(({ id, size }) => [id, size]));
    used = chosen.reduce((sum, { size }) => sum + size, 0);
  }

  return {
    arrive(id) {
      now++;
      const query = seen.get(id) ?? { id, size: 0, arrivals: 0, misses: 0, costs: 0 };
      seen.set(id, query);
      query.arrivals++;
      if (!held.has(id)) return MISS;
      choose();
      return HIT;
    },
    answered(id, size, cost) {
      const query = seen.get(id)!;
      query.size = size;
      query.misses++;
      query.costs += cost;
      choose();
      return { admitted: held.has(id), evicted: [] };
    },
    remove(id) {
      used -= held.get(id) ?? 0;
      return held.delete(id);
    },
    has: (id) => held.has(id),
    used: () => used,
    count: () => held.size,
  };
}
