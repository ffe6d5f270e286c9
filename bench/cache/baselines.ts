// Policies that the response cache is measured against: the one-victim rule of the paper's baseline
// (lec1), the same with several victims (lecm), LRU, LFU with admission, and GDSF. They remember
// every id they have seen, without bound: they are for comparisons.
import { createContents, type Contents, type Held } from "./contents.ts";
import {
  ADMITTED,
  checkAnswer,
  checkCapacity,
  HIT,
  MISS,
  NOT_ADMITTED,
  type CachePolicy,
  type CreatePolicy,
  type Id,
} from "../../algorithms/response-cache/policy.ts";

interface Query extends Held {
  arrivals: number;
  misses: number;
  /** Sum of the costs seen. */
  costs: number;
}

interface Rule {
  worth(query: Query, now: number): number;
  admit(contents: Contents<Query>, query: Query, worth: number): readonly Query[] | null;
  onMiss?(query: Query): void;
}

const meanCost = ({ costs, misses }: Query): number => costs / misses;

function ranked(capacity: number, { worth, admit, onMiss }: Rule): CachePolicy {
  checkCapacity(capacity);
  const queries = new Map<Id, Query>();
  const contents = createContents<Query>(capacity);
  const holds = (query: Query | undefined): query is Query => query !== undefined && query.at >= 0;
  const queryOf = (id: Id): Query => {
    let query = queries.get(id);
    if (query === undefined)
      queries.set(id, (query = { id, key: 0, at: -1, size: 0, arrivals: 0, misses: 0, costs: 0 }));
    return query;
  };
  let now = 0;
  return {
    arrive(id) {
      now++;
      const query = queryOf(id);
      query.arrivals++;
      if (query.at < 0) {
        onMiss?.(query);
        return MISS;
      }
      contents.heap.update(query, worth(query, now));
      return HIT;
    },
    answered(id, size, cost) {
      checkAnswer(size, cost);
      const query = queryOf(id);
      query.misses++;
      query.costs += cost;
      if (query.at >= 0) contents.remove(query);
      query.size = size;
      const victims = admit(contents, query, worth(query, now));
      if (victims === null) return NOT_ADMITTED;
      return victims.length === 0 ? ADMITTED : { admitted: true, evicted: victims.map((victim) => victim.id) };
    },
    remove(id) {
      const query = queries.get(id);
      if (!holds(query)) return false;
      contents.remove(query);
      return true;
    },
    has: (id) => holds(queries.get(id)),
    used: contents.used,
    count: () => contents.heap.nodes().length,
  };
}

export interface LeastCostOptions {
  /**
   * Confidence radius subtracted from a mean cost after this many observations; the estimate stays
   * at least `floor`. Default: none.
   */
  radius?: (misses: number) => number;
  /** Least cost there is. */
  floor?: number;
}

const density = ({ radius, floor = 0 }: LeastCostOptions) =>
  radius === undefined
    ? (query: Query): number => (query.arrivals * meanCost(query)) / query.size
    : (query: Query): number => (query.arrivals * Math.max(floor, meanCost(query) - radius(query.misses))) / query.size;

/** Replaces the one entry of least expected cost per byte, if that frees enough bytes. */
export const createLec1 =
  (options: LeastCostOptions = {}): CreatePolicy =>
  (capacity) =>
    ranked(capacity, { worth: density(options), admit: (contents, query, worth) => contents.admit(query, worth, 1) });

/** The same with as many victims as it takes. */
export const createLecm =
  (options: LeastCostOptions = {}): CreatePolicy =>
  (capacity) =>
    ranked(capacity, { worth: density(options), admit: (contents, query, worth) => contents.admit(query, worth) });

/** The entry that was not asked for longest goes first. */
export const createLru: CreatePolicy = (capacity) =>
  ranked(capacity, {
    worth: (_query, now) => now,
    admit: (contents, query, worth) => contents.force(query, worth),
  });

/** An answer displaces what was asked for less often. */
export const createLfu: CreatePolicy = (capacity) =>
  ranked(capacity, {
    worth: ({ arrivals }) => arrivals,
    admit: (contents, query, worth) => contents.admit(query, worth),
  });

/**
 * Greedy dual size frequency: arrivals since it entered times mean cost per byte, on top of the
 * worth of what left last.
 */
export const createGdsf: CreatePolicy = (capacity) => {
  let inflation = 0;
  return ranked(capacity, {
    worth: (query) => inflation + (query.arrivals * meanCost(query)) / query.size,
    admit(contents, query, worth) {
      const victims = contents.force(query, worth);
      inflation = victims?.at(-1)?.key ?? inflation;
      return victims;
    },
    onMiss(query) {
      query.arrivals = 1;
    },
  });
};
