// Who stays when the pool has outgrown its budget, by policy. All of them are given the same
// candidates, those in grace left out.
import { knapsack } from "../../algorithms/selection/knapsack.ts";
import type { Random } from "../../algorithms/numeric/random.ts";
import { exactKnapsack } from "../cache/exact-knapsack.ts";
import type { Candidate } from "../support/simulated-pool.ts";

/** Indexes of those that stay. */
export type Policy = (candidates: readonly Candidate[], capacity: number, random: Random) => number[];

const items = (candidates: readonly Candidate[]) => candidates.map(({ value, bytes }) => ({ value, weight: bytes }));

/** Those of the highest rank, while they fit. */
function byRank(candidates: readonly Candidate[], capacity: number, rank: (one: Candidate) => number): number[] {
  const order = candidates.map((one, index) => ({ index, bytes: one.bytes, rank: rank(one) }));
  let left = capacity;
  return order
    .sort((a, b) => b.rank - a.rank || a.index - b.index)
    .flatMap(({ index, bytes }) => {
      if (bytes > left) return [];
      left -= bytes;
      return [index];
    });
}

export const policies = {
  ours: (candidates, capacity) => knapsack(items(candidates), capacity),
  lru: (candidates, capacity) => byRank(candidates, capacity, ({ lastUse }) => lastUse),
  lfu: (candidates, capacity) => byRank(candidates, capacity, ({ uses }) => uses),
  random: (candidates, capacity, random) => byRank(candidates, capacity, () => random()),
  exact: (candidates, capacity) => exactKnapsack(items(candidates), capacity),
} as const satisfies Record<string, Policy>;

export type PolicyName = keyof typeof policies;
