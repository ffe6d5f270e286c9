// Streams that are drawn: the fixture's (100 queries, uniform sizes and costs), and larger ones
// (Zipf popularity, lognormal sizes), with whatever changes over time.
import { normal, splitmix64, type Random } from "../../algorithms/numeric/random.ts";
import type { Stream } from "./stream.ts";

export interface FixtureOptions {
  rounds?: number;
  capacity?: number;
  /** Standard deviation of a cost about its mean. */
  noise?: number;
  ttl?: number;
  /** Every query has size 1. */
  sameSize?: boolean;
  /** How often popularities, costs are drawn anew, evenly over the stream. */
  popularityDraws?: number;
  costDraws?: number;
}

const queries = 100;

/** As ../shared/spec/40-response-cache.md has it, draw by draw, where no option differs. */
export function fixtureStream(seed: number, options: FixtureOptions = {}): Stream {
  const { rounds = 20_000, capacity = 60, noise = 0.1, ttl = Infinity, sameSize = false } = options;
  const { popularityDraws = 1, costDraws = 1 } = options;
  const random = splitmix64(seed);
  const sizes: number[] = [];
  const costs: number[] = [];
  const weights: number[] = [];
  for (let i = 0; i < queries; i++) {
    sizes.push(1 + Math.floor(10 * random()));
    costs.push(1 + random());
    weights.push(random() ** 2);
  }
  const order = new Int32Array(rounds);
  const paid = new Float64Array(rounds);
  let draw = cumulated(weights);
  for (let round = 0; round < rounds; round++) {
    if (begins(round, rounds, popularityDraws)) draw = cumulated(weights.map(() => random() ** 2));
    if (begins(round, rounds, costDraws)) for (let i = 0; i < queries; i++) costs[i] = 1 + random();
    const query = find(draw, random());
    order[round] = query;
    paid[round] = Math.max(0.01, costs[query]! + noise * normal(random));
  }
  const bytes = sameSize ? sizes.map(() => 1) : sizes;
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const changes = popularityDraws > 1 || costDraws > 1 || ttl < Infinity;
  return {
    ...{ capacity, queries: order, costs: paid, sizes: bytes, ttl },
    known: changes ? null : bytes.map((size, id) => ({ id, size, popularity: weights[id]! / total, cost: costs[id]! })),
  };
}

export interface LargeOptions {
  rounds: number;
  /** Different queries, without those that come once. */
  queries?: number;
  /** Capacity as a share of the sum of all sizes. */
  capacityShare?: number;
  zipf?: number;
  /** Cost in proportion to size instead of independent of it. */
  costBySize?: boolean;
  popularityDraws?: number;
  ttl?: number;
  /** Share of requests that come once and never again. */
  once?: number;
  /** Share of requests that repeat one of the last 200 requests. */
  recent?: number;
  /** Real sizes and costs in place of drawn ones. */
  items?: readonly { size: number; cost: number }[];
}

export function largeStream(seed: number, options: LargeOptions): Stream {
  const { rounds, capacityShare = 0.1, zipf = 1, costBySize = false, popularityDraws = 1, items } = options;
  const { ttl = Infinity, once = 0, recent = 0 } = options;
  const random = splitmix64(seed);
  const lognormal = (mean: number, deviation: number): number => Math.exp(mean + deviation * normal(random));
  const drawItem = (): { size: number; cost: number } => {
    const size = Math.max(1, Math.round(lognormal(6, 1)));
    return { size, cost: costBySize ? size / 400 : lognormal(0, 0.5) };
  };
  const all = items === undefined ? Array.from({ length: options.queries ?? 10_000 }, drawItem) : [...items];
  const repeated = all.length;
  const capacity = Math.floor(capacityShare * all.reduce((sum, { size }) => sum + size, 0));
  const ranks = shuffledRanks(repeated, random);
  const weightsNow = (): number[] => ranks.map((rank) => (rank + 1) ** -zipf);
  const weights = weightsNow();
  let draw = cumulated(weights);
  const order = new Int32Array(rounds);
  const paid = new Float64Array(rounds);
  for (let round = 0; round < rounds; round++) {
    if (begins(round, rounds, popularityDraws)) {
      reorder(ranks, random);
      draw = cumulated(weightsNow());
    }
    const kind = random();
    let query: number;
    if (kind < once) query = all.push(drawItem()) - 1;
    else if (kind < once + recent && round > 0) query = order[round - 1 - Math.floor(random() * Math.min(200, round))]!;
    else query = find(draw, random());
    order[round] = query;
    paid[round] = all[query]!.cost * (items === undefined ? Math.max(0.1, 1 + 0.1 * normal(random)) : 1);
  }
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const changes = popularityDraws > 1 || ttl < Infinity || once > 0 || recent > 0;
  return {
    ...{ capacity, queries: order, costs: paid, sizes: all.map(({ size }) => size), ttl },
    known: changes ? null : all.map(({ size, cost }, id) => ({ id, size, cost, popularity: weights[id]! / total })),
  };
}

const begins = (round: number, rounds: number, draws: number): boolean =>
  round > 0 && Math.floor((round * draws) / rounds) !== Math.floor(((round - 1) * draws) / rounds);

function cumulated(weights: readonly number[]): Float64Array {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let sum = 0;
  return Float64Array.from(weights, (weight) => (sum += weight / total));
}

/** The first index whose cumulated share exceeds u. */
function find(shares: Float64Array, u: number): number {
  let [low, high] = [0, shares.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (shares[middle]! > u) high = middle;
    else low = middle + 1;
  }
  return low;
}

function shuffledRanks(count: number, random: Random): number[] {
  const ranks = Array.from({ length: count }, (_, i) => i);
  reorder(ranks, random);
  return ranks;
}

function reorder(ranks: number[], random: Random): void {
  for (let i = ranks.length - 1; i > 0; i--) {
    const other = Math.floor(random() * (i + 1));
    [ranks[i], ranks[other]] = [ranks[other]!, ranks[i]!];
  }
}
