// serve under load: the stream's requests come by a trace at .5, 1 and 2 times what the large model
// can answer. CPU times and quality are those of the kept answers; the queue (queue.ts) is
// simulated: all arms share one core. Pure.
import { type Random, splitmix64 } from "../../algorithms/numeric/random.ts";
import { createTokenBucket } from "../../algorithms/queueing/token-bucket.ts";
import { routing as routingSection } from "../../config/sections/learning.ts";
import type { Figures } from "../benchmark.ts";
import { arrivalsOf } from "../overload/arrivals.ts";
import { createLearner } from "../routing/learner.ts";
import { mean, quantile, significant } from "../support/statistics.ts";
import { type Policy, serveQueued } from "./queue.ts";
import { every } from "./router.ts";
import { type Field, large, routed } from "./summary.ts";

/** Multiples of the rate at which the large model alone fills the core. */
const loads = [0.5, 1, 2];
/** Rates of the token bucket, as shares of that rate. */
const bucketRates = [0.1, 0.25, 0.5, 0.75, 1];
const smallWith = routed.indexOf("small-with");
const prior = routingSection.parse({});

export interface Loading {
  costWeight: number;
  /** Streams, each with another part of the trace and draws of its own. */
  draws: number;
  /** Times of the trace, milliseconds, ascending. */
  times: readonly number[];
}

/** By load: answer times in seconds, quality and shares of the arms of each way to choose. */
export function loadFigures(field: Field, loading: Loading): Figures {
  const capacity = 1 / mean(field.rounds.map(({ cpu }) => cpu[large]!));
  return {
    how: "measured CPU times, simulated queue: one core for all arms, first come first served",
    capacity: significant(capacity),
    ...Object.fromEntries(loads.map((load) => [String(load), atRate(field, load * capacity, capacity, loading)])),
  };
}

function atRate(field: Field, rate: number, capacity: number, loading: Loading): Figures {
  const under = (policy: (draw: number) => Policy): Waited => waitedOf(field, rate, policy, loading);
  const always = (arm: number): Waited => under(() => ({ choose: () => arm }));
  const router = under((draw) => routerOf(field, draw, loading.costWeight, true));
  const buckets = bucketRates.map((share) => ({ share, ...under(() => bucketOf(share * capacity)) }));
  // In hindsight: the best of those that answer as fast as the router, or else the fastest.
  const asFast = buckets.filter((one) => one.p50_s <= router.p50_s).sort((a, b) => b.quality - a.quality);
  return {
    router,
    without_load: under((draw) => routerOf(field, draw, loading.costWeight, false)),
    ...Object.fromEntries(routed.map((name, arm) => [name, always(arm)])),
    coin: under((draw) => coinOf(router.shares["large-without"]!, splitmix64(3_000 + draw))),
    token_bucket: asFast[0] ?? buckets.sort((a, b) => a.p50_s - b.p50_s)[0]!,
  };
}

interface Waited {
  quality: number;
  /** From arrival to the whole answer, seconds. */
  p50_s: number;
  p99_s: number;
  shares: Record<string, number>;
  [figure: string]: number | Record<string, number>;
}

function waitedOf(
  { rounds, arms }: Field,
  rate: number,
  policy: (draw: number) => Policy,
  { draws, times }: Loading,
): Waited {
  const phases = [{ name: "all", seconds: rounds.length / rate, rate }];
  const most = Math.max(0, times.length - rounds.length - 1);
  const answered = Array.from({ length: draws }, (_, draw) => {
    const arrivals = arrivalsOf(times.slice(Math.floor((draw * most) / draws)), phases);
    const seconds = arrivals.map(({ atMs }) => atMs / 1_000);
    return serveQueued(rounds, seconds, arms, policy(draw));
  }).flat();
  const seconds = answered.map((one) => one.seconds);
  const share = (arm: number): number => significant(mean(answered.map((one) => Number(one.arm === arm))));
  return {
    quality: significant(mean(answered.map(({ item, arm }) => rounds[item]!.quality[arm]!))),
    p50_s: significant(quantile(seconds, 0.5)),
    p99_s: significant(quantile(seconds, 0.99)),
    shares: Object.fromEntries(routed.map((name, arm) => [name, share(arm)])),
  };
}

/** The system's router with shipped defaults, beginning with nothing known. */
function routerOf({ rounds, arms }: Field, draw: number, costWeight: number, loadAware: boolean): Policy {
  const { indifference, load, saturation } = prior;
  const overload = loadAware ? { overload: { load, saturation } } : {};
  const learner = createLearner({ arms, costWeight, prior, indifference, every, ...overload });
  const random = splitmix64(1_000 + draw);
  return {
    choose: (item, _now, busy) => learner.choose(rounds[item]!.contexts, random, rounds[item]!.domain, busy).arm,
    finished(item, arm) {
      const { contexts, quality, domain } = rounds[item]!;
      learner.reward(arm, contexts[arm]!, quality[arm]!, domain);
    },
  };
}

/** The large model while there are tokens, else the small one with examples; rate: a second. */
function bucketOf(rate: number): Policy {
  const bucket = createTokenBucket();
  return { choose: (_item, now) => (bucket.take(1, 1_000 * now, 60 * rate) === 0 ? large : smallWith) };
}

const coinOf = (share: number, random: Random): Policy => ({
  choose: () => (random() < share ? large : smallWith),
});
