// The static optimum: the best set to hold when popularity, costs and sizes are known beforehand.
// No policy that must learn them can do better on stationary traffic: it is a bound.
import type { KnapsackItem } from "../../algorithms/selection/knapsack.ts";
import {
  ADMITTED,
  checkAnswer,
  HIT,
  MISS,
  NOT_ADMITTED,
  type CachePolicy,
  type Id,
} from "../../algorithms/response-cache/policy.ts";

export interface KnownQuery {
  id: Id;
  size: number;
  /** Probability that a request is this one. */
  popularity: number;
  /** Mean cost. */
  cost: number;
}

/**
 * preloaded: it holds its set from the beginning, as a bound; otherwise an entry enters when it was
 * answered first.
 */
export function createStaticOptimum(
  capacity: number,
  queries: readonly KnownQuery[],
  { solve, preloaded }: { solve: (items: readonly KnapsackItem[], capacity: number) => number[]; preloaded: boolean },
): CachePolicy {
  const items = queries.map(({ size, popularity, cost }) => ({ value: popularity * cost, weight: size }));
  const best = new Map(solve(items, capacity).map((index) => [queries[index]!.id, queries[index]!.size]));
  const held = new Map<Id, number>(preloaded ? best : []);
  let used = 0;
  for (const size of held.values()) used += size;
  return {
    arrive: (id) => (held.has(id) ? HIT : MISS),
    answered(id, size, cost) {
      checkAnswer(size, cost);
      if (best.get(id) !== size || held.has(id)) return NOT_ADMITTED;
      held.set(id, size);
      used += size;
      return ADMITTED;
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
