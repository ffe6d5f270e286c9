// The figures of the ladder from its log.
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { Measured } from "../benchmark.ts";
import { pairedBootstrap } from "../support/bootstrap.ts";
import type { Overhead as Measurement } from "../support/overhead.ts";
import { mean, median, significant } from "../support/statistics.ts";
import { type ArmName, armNames, keyOf, routedNames, type Row } from "./log.ts";
import {
  always,
  armsOf,
  atRandom,
  type Choices,
  expected,
  oracle,
  replayCold,
  replayStream,
  replayWarm,
  type Round,
  valuesOf,
  wins,
  withCosts,
} from "./replay.ts";

const costWeights = [0, 0.1, 0.2, 0.3, 0.5, 0.7, 1];
const large: ArmName = "large-0";

/** alone_ms is absent in logs of before 0c2baa2. */
export type Overhead = Omit<Measurement, "alone_ms"> & Partial<Pick<Measurement, "alone_ms">>;

export interface Effort {
  orders: number;
  every: number;
  draws: number;
  /** Requests of the stream in which they recur; 0: none is replayed. */
  stream: number;
}

/** Requests that every arm answered, in their order. */
export const complete = (log: ReadonlyMap<string, Row>): number[] =>
  [...new Set([...log.values()].map(({ item }) => item))]
    .filter((item) => armNames.every((arm) => log.has(keyOf({ item, arm, caches: "cold" }))))
    .sort((a, b) => a - b);

/** `overhead` null: not measured; then the models alone count, and the figures say so. */
export function figuresOf(log: ReadonlyMap<string, Row>, overhead: Overhead | null, effort: Effort): Measured {
  const items = complete(log);
  const rowOf = (item: number, arm: ArmName, caches: Row["caches"] = "cold"): Row | undefined =>
    log.get(keyOf({ item, arm, caches }));
  const more = overhead === null ? 0 : overhead.ours + overhead.servers;
  const logged = items.map((item): Round => {
    const rows = armNames.map((arm) => rowOf(item, arm)!);
    // All arms have the same nearest example and know the same of it.
    const shown = rowOf(item, "large-5")!;
    return {
      contexts: [...rows, shown].map(({ context }) => context),
      quality: [...rows.map(({ quality }) => quality), shown.copy ?? 0],
      cpu: [...rows.map(({ cpu }) => cpu.model + more), more],
    };
  });
  const arms = armsOf(routedNames, logged);
  const rounds = withCosts(logged, arms);
  const qualities = rounds.map(({ quality }) => quality);
  const cpus = rounds.map(({ cpu }) => cpu);
  const unit = Math.max(...routedNames.map((_, arm) => mean(cpus.map((row) => row[arm]!))));
  const baseline = armNames.indexOf(large);
  // The baseline is the model called directly, without anything of ours.
  const baselineCpu = mean(cpus.map((row) => row[baseline]! - more));
  const won = wins(rounds, baseline);
  const firsts = items.map((item) => [
    ...armNames.map((arm) => rowOf(item, arm)!.firstTokenMs ?? 0),
    overhead?.alone_ms ?? 0,
  ]);

  const summary = (choices: Choices) => {
    const [quality, win] = [expected(choices, qualities), expected(choices, won)];
    const cpu = mean(expected(choices, cpus));
    const first = mean(expected(choices, firsts)) / mean(firsts.map((row) => row[baseline]!));
    const timed = overhead?.alone_ms !== undefined || choices.every((row) => row.at(-1) === 0);
    return {
      ...interval("quality", quality),
      cpu_s: significant(cpu),
      throughput_ratio: significant(baselineCpu / cpu),
      ...interval("win_rate", win),
      ttft_ratio: timed ? significant(first) : null,
    };
  };
  const constants = Object.fromEntries(routedNames.map((name, arm) => [name, summary(always(rounds, arm))]));
  const priced = costWeights.map((weight) => {
    const values = valuesOf(rounds, weight, unit);
    const each = routedNames.map((_, arm) => expected(always(rounds, arm), values));
    const means = each.map(mean);
    const best = means.indexOf(Math.max(...means));
    const cold = replayCold(rounds, arms, weight, effort);
    const warm = replayWarm(rounds, arms, weight, effort.draws);
    const against = (choices: Choices) =>
      pairedBootstrap(expected(choices, values), each[best]!, { random: splitmix64(9), resamples: 2_000 });
    const stream = effort.stream === 0 ? [] : replayStream(rounds, arms, weight, { ...effort, count: effort.stream });
    const streamed = mean(stream.map(({ item, arm }) => values[item]![arm]!));
    const streamGain = streamed - mean(stream.map(({ item }) => values[item]![best]!));
    const [coldGain, warmGain] = [against(cold), against(warm)];
    return {
      weight,
      warm: summary(warm),
      worth: {
        loop_cold: significant(mean(expected(cold, values))),
        loop_warm: significant(mean(expected(warm, values))),
        loop_stream: stream.length === 0 ? null : significant(streamed),
        stream_gain: stream.length === 0 ? null : significant(streamGain),
        best_constant: significant(means[best]!),
        best_constant_arm: routedNames[best]!,
        random: significant(mean(expected(atRandom(rounds), values))),
        oracle: significant(mean(expected(oracle(values), values))),
        cold_gain_low: significant(coldGain.low),
        cold_gain_high: significant(coldGain.high),
        warm_gain_low: significant(warmGain.low),
        warm_gain_high: significant(warmGain.high),
      },
      wonCold: coldGain.difference > 0,
      wonWarm: warmGain.difference > 0,
      wonStream: streamGain > 0,
    };
  });
  // The most requests a CPU second among the prices at which it wins as many pairs as it loses.
  const eligible = priced.filter(({ warm }) => warm.win_rate >= 0.5);
  const headline = eligible.toSorted((a, b) => b.warm.throughput_ratio - a.warm.throughput_ratio)[0];
  const none = "at none of the seven cost weights does the router win half of the pairs";
  return {
    figures: {
      n: items.length,
      router:
        "its policy and learner replayed over a log of real answers: each arm answered each request through Kafka, selection and linking",
      arms: constants,
      overhead,
      worth: Object.fromEntries(priced.map(({ weight, worth }) => [String(weight), worth])),
      by_weight: priced.map(({ weight, warm }) => ({ lambda_c: weight, ...warm })),
      weights_won_cold: priced.filter(({ wonCold }) => wonCold).length,
      weights_won_warm: priced.filter(({ wonWarm }) => wonWarm).length,
      weights_won_stream: effort.stream === 0 ? null : priced.filter(({ wonStream }) => wonStream).length,
      throughput_ratio: headline?.warm.throughput_ratio ?? null,
      throughput_lambda_c: headline?.weight ?? null,
      win_rate: headline?.warm.win_rate ?? null,
      win_rate_low: headline?.warm.win_rate_low ?? null,
      ttft_ratio: headline?.warm.ttft_ratio ?? null,
      caches: cachesOf(items, rowOf),
    },
    reasons: {
      ...(effort.stream === 0 ? { weights_won_stream: "a quick run replays no stream" } : {}),
      ...Object.fromEntries(armNames.map((arm) => [`caches.${arm}`, "it was asked no request a second time"])),
      ...(overhead === null ? { overhead: "this log has no measurement of it" } : {}),
      ...(overhead?.alone_ms === undefined
        ? { ttft_ratio: "how long a request without a model takes was not measured when the log was made" }
        : {}),
      ...(headline === undefined
        ? Object.fromEntries(
            ["throughput_ratio", "throughput_lambda_c", "win_rate", "win_rate_low", "ttft_ratio"].map((name) => [
              name,
              none,
            ]),
          )
        : {}),
    },
  };
}

/** Mean, with an interval over the requests. */
function interval<N extends string>(name: N, values: readonly number[]) {
  const { difference, low, high } = pairedBootstrap(
    values,
    values.map(() => 0),
    {
      random: splitmix64(3),
      resamples: 2_000,
    },
  );
  return {
    [name]: significant(difference),
    [`${name}_low`]: significant(low),
    [`${name}_high`]: significant(high),
  } as Record<N | `${N}_low` | `${N}_high`, number>;
}

/** Requests that were asked twice: without the examples' caches, and with them. */
function cachesOf(
  items: readonly number[],
  rowOf: (item: number, arm: ArmName, caches: Row["caches"]) => Row | undefined,
) {
  const of = (rows: readonly Row[]) => ({
    cpu_model_s: significant(mean(rows.map(({ cpu }) => cpu.model))),
    ttft_ms: significant(median(rows.map(({ firstTokenMs }) => firstTokenMs ?? 0))),
    linked_share: significant(mean(rows.map(({ usage }) => usage.linked / usage.prompt))),
    quality: significant(mean(rows.map(({ quality }) => quality))),
  });
  return Object.fromEntries(
    armNames.map((arm) => {
      const twice = items.filter((item) => rowOf(item, arm, "warm") !== undefined);
      const rows = (caches: Row["caches"]): Row[] => twice.map((item) => rowOf(item, arm, caches)!);
      return [arm, twice.length === 0 ? null : { n: twice.length, cold: of(rows("cold")), warm: of(rows("warm")) }];
    }),
  );
}
