// VSOCB, the policy of the LLM cache bandit paper: now and then an oracle solves a knapsack over
// lower confidence bounds and recommends a set; recommended queries enter as they come again. Three
// repairs to the printed algorithm: line 26 intersects with the cache that holds the query just
// answered, line 28 leaves what line 19 added, and an oracle without any value changes nothing.
import type { KnapsackItem } from "../../algorithms/selection/knapsack.ts";
import { leastWorth, type Counts, type Horizon } from "./bounds.ts";
import {
  ADMITTED,
  checkAnswer,
  checkCapacity,
  HIT,
  MISS,
  NOT_ADMITTED,
  type Admission,
  type CachePolicy,
  type Id,
} from "../../algorithms/response-cache/policy.ts";

export interface VsocbOptions extends Horizon {
  solve: (items: readonly KnapsackItem[], capacity: number) => number[];
  /** The oracle is asked when a counter has grown by this factor less 1; > 0. */
  alpha: number;
  /** 1: the bounds of the paper; 0: means. */
  scale: number;
  /** Largest minus least cost. */
  costRange?: number;
  /**
   * Entries outside the recommendation stay until their bytes are needed, and only the timer asks
   * the oracle.
   */
  lazy?: boolean;
  /** As printed: an oracle to which nothing is worth anything empties the cache. For comparison. */
  flushWorthless?: boolean;
  /** As printed in line 26: a call drops the query just answered. For comparison. */
  dropAnswered?: boolean;
}

interface Query extends Counts {
  id: Id;
  size: number;
  /** Misses when the oracle was last asked because of it. */
  counted: number;
  held: boolean;
  recommended: boolean;
}

export interface Vsocb extends CachePolicy {
  /** How often the oracle was asked. */
  calls(): number;
}

/** How often it may be asked at most (the paper's bound). */
export const mostCalls = ({ rounds, queries, alpha }: Pick<VsocbOptions, "rounds" | "queries" | "alpha">): number =>
  ((queries + 1) * Math.log(rounds)) / Math.log(1 + alpha);

export function createVsocb(capacity: number, options: VsocbOptions): Vsocb {
  const { solve, alpha, scale, costRange = 1, lazy = false, flushWorthless = false, dropAnswered = false } = options;
  checkCapacity(capacity);
  const worth = leastWorth(options, scale, costRange);
  /** In the order in which they came first. */
  const queries = new Map<Id, Query>();
  const held = new Set<Query>();
  /**
   * Held and not recommended, most worth first as of the last call; and some that left or are
   * recommended by now.
   */
  let loose: Query[] = [];
  let [now, timer, calls, used, recommendedBytes] = [0, 0, 0, 0, 0];

  const least = (query: Query): number => worth(query, now);
  const drop = (query: Query): Id => {
    query.held = false;
    held.delete(query);
    used -= query.size;
    return query.id;
  };

  /** Which entries leave. */
  function ask(query: Query, except: Query | null): Id[] {
    const due = now >= (1 + alpha) * timer || (!lazy && query.misses >= (1 + alpha) * query.counted);
    if (!due) return [];
    query.counted = query.misses;
    timer = now;
    calls++;
    const all = [...queries.values()].filter(({ misses }) => misses > 0);
    const chosen = solve(
      all.map((one) => ({ value: least(one), weight: one.size })),
      capacity,
    ).map((index) => all[index]!);
    const useful = chosen.filter((one) => least(one) > 0);
    if (useful.length === 0 && !flushWorthless) return [];
    for (const one of all) one.recommended = false;
    recommendedBytes = 0;
    for (const one of useful) {
      one.recommended = true;
      recommendedBytes += one.size;
    }
    if (lazy) {
      loose = [...held].filter(({ recommended }) => !recommended);
      loose.sort((one, other) => least(other) * one.size - least(one) * other.size);
      return [];
    }
    return [...held].filter((one) => !one.recommended || one === except).map(drop);
  }

  /** Room for a recommended query: what is not recommended leaves, least worth per byte first. */
  function makeRoom(size: number): Id[] {
    if (used + size <= capacity) return [];
    const gone: Id[] = [];
    while (used + size > capacity) {
      const other = loose.pop()!;
      if (other.held && !other.recommended) gone.push(drop(other));
    }
    return gone;
  }

  function enter(query: Query): Id[] | null {
    if (!query.recommended) {
      if (query.size <= capacity - recommendedBytes) {
        query.recommended = true;
        recommendedBytes += query.size;
      } else if (!lazy || used + query.size > capacity) return null;
      else loose.unshift(query);
    }
    const gone = makeRoom(query.size);
    query.held = true;
    held.add(query);
    used += query.size;
    return gone;
  }

  /** A size that changed is forgotten with its place in the recommendation. */
  function resize(query: Query, size: number): void {
    if (query.size === size) return;
    if (query.recommended) recommendedBytes -= query.size;
    query.recommended = false;
    query.size = size;
  }

  const admission = (admitted: boolean, evicted: Id[]): Admission =>
    evicted.length > 0 ? { admitted, evicted } : admitted ? ADMITTED : NOT_ADMITTED;

  return {
    calls: () => calls,
    arrive(id) {
      now++;
      let query = queries.get(id);
      if (query === undefined)
        queries.set(
          id,
          (query = { id, size: 0, arrivals: 0, misses: 0, costs: 0, counted: 0, held: false, recommended: false }),
        );
      query.arrivals++;
      if (!query.held) return MISS;
      const evicted = ask(query, null);
      return evicted.length === 0 ? HIT : { hit: true, evicted };
    },
    answered(id, size, cost) {
      checkAnswer(size, cost);
      const query = queries.get(id);
      if (query === undefined) return NOT_ADMITTED;
      query.misses++;
      query.costs += cost;
      if (query.held) drop(query);
      resize(query, size);
      const entered = enter(query);
      const evicted = [...(entered ?? []), ...ask(query, entered !== null && dropAnswered ? query : null)];
      return admission(
        query.held,
        evicted.filter((gone) => gone !== id),
      );
    },
    remove(id) {
      const query = queries.get(id);
      if (query?.held !== true) return false;
      drop(query);
      return true;
    },
    has: (id) => queries.get(id)?.held === true,
    used: () => used,
    count: () => held.size,
  };
}
