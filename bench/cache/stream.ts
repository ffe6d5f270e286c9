// A stream of requests as a cache policy meets it, and what a policy pays on it. Costs are drawn
// for every request, whether it is answered or not, so that all policies meet the same stream.
import type { CachePolicy, Id } from "../../algorithms/response-cache/policy.ts";
import type { KnownQuery } from "./static.ts";

export interface Stream {
  capacity: number;
  /** By round: which query comes. */
  queries: Int32Array;
  /** By round: what it costs when it is answered anew. */
  costs: Float64Array;
  /** By query: bytes of request and answer. */
  sizes: readonly number[];
  /** Rounds after which an answer expires; Infinity: never. */
  ttl: number;
  /** Where nothing changes over time: what there is to know. */
  known: readonly KnownQuery[] | null;
}

export interface Outcome {
  cost: number;
  hits: number;
}

/** Throws when more is held than fits: no figure of such a policy is worth anything. */
export function play({ queries, costs, sizes, capacity, ttl }: Stream, policy: CachePolicy): Outcome {
  let [cost, hits] = [0, 0];
  /** Answers by the round in which they were made; a later answer of the same query replaces it. */
  const expiries: { id: Id; at: number }[] = [];
  const madeAt = new Map<Id, number>();
  let first = 0;
  for (let round = 0; round < queries.length; round++) {
    for (; first < expiries.length && expiries[first]!.at <= round; first++) {
      const { id, at } = expiries[first]!;
      if (madeAt.get(id) === at - ttl) policy.remove(id);
    }
    const query = queries[round]!;
    if (policy.arrive(query).hit) {
      hits++;
      continue;
    }
    cost += costs[round]!;
    const { admitted } = policy.answered(query, sizes[query]!, costs[round]!);
    if (policy.used() > capacity) throw new Error(`round ${round}: ${policy.used()} held of ${capacity}`);
    if (admitted && ttl < Infinity) {
      madeAt.set(query, round);
      expiries.push({ id: query, at: round + ttl });
    }
  }
  return { cost, hits };
}
