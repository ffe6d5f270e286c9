// What each choice of an arm comes to: the router replayed over the answers, each arm alone, the
// rivals; over the whole stream, its second half, and by domain. Pure.
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { Figures } from "../benchmark.ts";
import { always, type Choices, expected, valuesOf } from "../ladder/replay.ts";
import { pairedBootstrap } from "../support/bootstrap.ts";
import { mean, significant } from "../support/statistics.ts";
import { costWeights } from "../routing/worth.ts";
import { rivalsAt } from "./rivals.ts";
import { replayRouter } from "./router.ts";
import { domains } from "./stream.ts";
import { type Field, names } from "./summary.ts";

export const defaultWeight = 0.3;

export interface Effort {
  /** Passes of the router over the stream. */
  draws: number;
  /** Resamples of the bootstrap. */
  resamples: number;
}

export const routerOf = ({ rounds, arms }: Field, draws: number, costWeight = defaultWeight, rated = 1): Choices =>
  replayRouter(rounds, { arms, costWeight, draws, rated });

export function choiceFigures(field: Field, { draws, resamples }: Effort) {
  const choices = routerOf(field, draws);
  const router = field.summary(choices);
  const rivals = rivalsAt(field.rounds, valuesOf(field.rounds, defaultWeight, field.unit), field.offloaded(choices));
  const worth = costWeights.map((weight) =>
    worthAt(field, weight, weight === defaultWeight ? choices : routerOf(field, draws, weight), resamples),
  );
  const indices = [...field.rounds.keys()];
  const byDomain = domains
    .map((domain) => [domain, indices.filter((i) => field.rounds[i]!.domain === domain)] as const)
    .filter(([, own]) => own.length > 0);
  const half = indices.slice(indices.length >> 1);
  return {
    primary: {
      ...{ throughput_ratio: router.throughput_ratio, win_rate_low: router.win_rate_low },
      met: router.win_rate_low >= 0.5,
    },
    arms: armsOf(field),
    arms_by_domain: Object.fromEntries(byDomain.map(([domain, own]) => [domain, armsOf(field, own)])),
    router,
    router_by_domain: Object.fromEntries(byDomain.map(([domain, own]) => [domain, field.summary(choices, own)])),
    second_half: { router: field.summary(choices, half), arms: armsOf(field, half) },
    rivals: {
      ...Object.fromEntries(
        Object.entries(rivals).map(([name, { choices: own, ...more }]) => [name, { ...field.summary(own), ...more }]),
      ),
      token_bucket: null,
    },
    worth: Object.fromEntries(worth.map(({ weight, ...own }) => [String(weight), own])),
    weights_won: worth.filter(({ gain }) => gain > 0).length,
  };
}

export const armsOf = ({ rounds, summary }: Field, of?: readonly number[]): Figures =>
  Object.fromEntries(names.map((name, arm) => [name, summary(always(rounds, arm), of)]));

/** Quality less price of the router and of each rival at a cost weight. */
function worthAt({ rounds, unit, offloaded }: Field, weight: number, router: Choices, resamples: number) {
  const values = valuesOf(rounds, weight, unit);
  const own = expected(router, values);
  const rivals = Object.entries(rivalsAt(rounds, values, offloaded(router)))
    .map(([name, { choices }]) => ({ name, each: expected(choices, values) }))
    .sort((a, b) => mean(b.each) - mean(a.each));
  const best = rivals[0]!;
  const { difference, low, high } = pairedBootstrap(own, best.each, { random: splitmix64(9), resamples });
  return {
    ...{ weight, router: significant(mean(own)), best_rival: best.name },
    ...{ gain: significant(difference), gain_low: significant(low), gain_high: significant(high) },
    rivals: Object.fromEntries(rivals.map(({ name, each }) => [name, significant(mean(each))])),
  };
}
