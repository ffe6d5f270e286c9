// bench -- cache --only regret: the paper's simulated run (100 queries, capacity 60, 20,000 rounds,
// 10 seeds) as regret over time, with the exact oracle (its algorithm 2) and the greedy one, its
// constants and smaller ones, beside its baseline, its offline policy and ours. Regret is expected:
// what the best fixed set saves per request less what the set held saves, summed over rounds.
import type { CachePolicy } from "../../algorithms/response-cache/policy.ts";
import { createAdaptive } from "../../algorithms/response-cache/adaptive.ts";
import { knapsack } from "../../algorithms/selection/knapsack.ts";
import type { BenchContext, Measured } from "../benchmark.ts";
import { significant } from "../support/statistics.ts";
import { createLec1, createLecm } from "./baselines.ts";
import { costRadius } from "./bounds.ts";
import { exactKnapsack } from "./exact-knapsack.ts";
import { createOffline } from "./offline.ts";
import type { KnownQuery } from "./static.ts";
import type { Stream } from "./stream.ts";
import { fixtureStream } from "./synthetic.ts";
import { createVsocb, type VsocbOptions } from "./vsocb.ts";

/** Rounds at which the regret is told, shares of the whole run. */
const points = [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1];

const vsocb =
  (options: Pick<VsocbOptions, "scale" | "solve"> & Partial<VsocbOptions>) =>
  ({ capacity, queries, sizes }: Stream): CachePolicy =>
    createVsocb(capacity, { rounds: queries.length, queries: sizes.length, alpha: 0.5, ...options });

const policies: Readonly<Record<string, (stream: Stream) => CachePolicy>> = {
  vsocb_exact: vsocb({ scale: 1, solve: exactKnapsack }),
  vsocb_greedy: vsocb({ scale: 1, solve: knapsack }),
  vsocb_printed: vsocb({ scale: 1, solve: exactKnapsack, flushWorthless: true, dropAnswered: true }),
  scaled_exact: vsocb({ scale: 0.01, solve: exactKnapsack }),
  scaled_greedy: vsocb({ scale: 0.01, solve: knapsack }),
  means_exact: vsocb({ scale: 0, solve: exactKnapsack }),
  means_greedy: vsocb({ scale: 0, solve: knapsack }),
  offline_exact: (stream) => createOffline(stream, { scale: 1, solve: exactKnapsack }),
  offline_means: (stream) => createOffline(stream, { scale: 0, solve: exactKnapsack }),
  lec1_radius: ({ capacity, queries, sizes }) =>
    createLec1({ radius: costRadius({ rounds: queries.length, queries: sizes.length }, 1), floor: 1 })(capacity),
  lec1: ({ capacity }) => createLec1()(capacity),
  lecm: ({ capacity }) => createLecm()(capacity),
  adaptive: ({ capacity }) => createAdaptive(capacity),
};

export async function runRegret({ quick, signal, progress }: BenchContext): Promise<Measured> {
  const rounds = quick ? [4_000] : [20_000, 200_000];
  const seeds = quick ? 2 : 10;
  const bar = progress("regret", rounds.length * seeds, "streams");
  const figures: Record<string, unknown> = {};
  for (const [which, length] of rounds.entries()) {
    const curves: Record<string, number[][]> = {};
    const bounds: number[] = [];
    for (let seed = 1; seed <= seeds; seed++) {
      const stream = fixtureStream(seed, { rounds: length });
      bounds.push(boundOf(stream));
      for (const [name, make] of Object.entries(policies)) {
        signal.throwIfAborted();
        (curves[name] ??= []).push(regretOf(stream, make(stream)));
        await new Promise((resolve) => setImmediate(resolve));
      }
      bar.update(which * seeds + seed);
    }
    figures[`rounds_${length}`] = {
      at: points.map((share) => share * length),
      regret: Object.fromEntries(Object.entries(curves).map(([name, all]) => [name, summary(all)])),
      bound: significant(mean(bounds), 3),
    };
  }
  bar.finish();
  return { part: "regret", figures };
}

/** Cumulative regret at each of the points. */
export function regretOf(stream: Stream, policy: CachePolicy): number[] {
  const known = stream.known!;
  const saved = new Map(known.map(({ id, popularity, cost }) => [id, popularity * cost]));
  const best = bestOf(known, stream.capacity);
  const at = points.map((share) => Math.round(share * stream.queries.length));
  const curve: number[] = [];
  let regret = 0;
  for (const [round, query] of stream.queries.entries()) {
    regret += best;
    for (const [id, worth] of saved) if (policy.has(id)) regret -= worth;
    if (!policy.arrive(query).hit) policy.answered(query, stream.sizes[query]!, stream.costs[round]!);
    if (policy.used() > stream.capacity) throw new Error(`round ${round}: more is held than fits`);
    if (at.includes(round + 1)) curve.push(regret);
  }
  return curve;
}

/** What the best fixed set saves per request. */
function bestOf(known: readonly KnownQuery[], capacity: number): number {
  const items = known.map(({ size, popularity, cost }) => ({ value: popularity * cost, weight: size }));
  return exactKnapsack(items, capacity).reduce((sum, index) => sum + items[index]!.value, 0);
}

/**
 * sqrt(N l T) of the paper's theorem 4.4 without its logarithms and constant: l is the smaller of
 * the most queries that a full cache holds and those that it leaves out at most.
 */
function boundOf({ sizes, capacity, queries }: Stream): number {
  const ascending = [...sizes].sort((a, b) => a - b);
  const fitting = (from: readonly number[]): number => {
    let used = 0;
    return from.filter((size) => (used + size <= capacity ? (used += size) > 0 : false)).length;
  };
  const l = Math.min(fitting(ascending), sizes.length - fitting(ascending.toReversed()));
  return Math.sqrt(sizes.length * l * queries.length);
}

/** Mean by point, the standard error of the last, and how it grew over the last two doublings. */
function summary(curves: readonly number[][]): { mean: number[]; error: number; growth: number } {
  const means = points.map((_, point) => mean(curves.map((curve) => curve[point]!)));
  const last = curves.map((curve) => curve.at(-1)!);
  const spread = Math.sqrt(mean(last.map((one) => (one - mean(last)) ** 2)) / Math.max(1, last.length - 1));
  return {
    mean: means.map((one) => significant(one, 3)),
    error: significant(spread, 2),
    growth: significant(Math.log(means.at(-1)! / means.at(-3)!) / Math.log(4), 2),
  };
}

const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;
