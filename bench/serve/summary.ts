// What choices between kept answers come to: quality, pairs won, CPU time and time to the first
// token beside the large model called directly. Pure.
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { armsOf, type Choices, expected, type ReplayArm, wins, withCosts } from "../ladder/replay.ts";
import { pairedBootstrap } from "../support/bootstrap.ts";
import { mean, quantile, significant } from "../support/statistics.ts";
import type { ArmName } from "./arms.ts";
import { type Answers, keyOf, type Row } from "./log.ts";
import type { Served } from "./rounds.ts";

/** Arms between which the router chooses. */
export const routed = ["small-with", "small-without", "large-without"] as const satisfies readonly ArmName[];
/** And the nearest example's answer as it stands: it costs what a request without a model costs. */
export const names = [...routed, "reuse"] as const;
export const large = routed.indexOf("large-without");

/** Which rule scores word problems: `lenient` is the primary one. */
export type Rule = "score" | "lenient";

export interface Summary {
  quality: number;
  win_rate: number;
  win_rate_low: number;
  cpu_s: number;
  requests_per_cpu_s: number;
  throughput_ratio: number;
  ttft_ms: number;
  ttft_ratio: number;
  [figure: string]: number | Record<string, number>;
}

export interface Field {
  rounds: Served[];
  /** Those that the router chooses between. */
  arms: ReplayArm[];
  /** CPU seconds of a price of 1: the mean of the most expensive arm. */
  unit: number;
  /** Mean share of arms other than the large one. */
  offloaded(choices: Choices): number;
  /** of: indices of the rounds that count; all by default. */
  summary(choices: Choices, of?: readonly number[]): Summary;
}

export interface Scoring {
  rule: Rule;
  /** built: answers with built caches stand for those of small-with where there are any. */
  caches: "cold" | "built";
  /** CPU seconds that a request takes besides its model. */
  overhead: number;
  /** Milliseconds of a request without a model: what a copied answer takes. */
  aloneMs: number;
  /** Resamples of the bootstrap. */
  resamples: number;
}

export function fieldOf(positions: readonly number[], { rows }: Answers, scoring: Scoring): Field {
  const { rule, caches, overhead, aloneMs, resamples } = scoring;
  const rowOf = (position: number, arm: ArmName): Row => {
    const built = arm === "small-with" && caches === "built" ? rows.get(keyOf({ position, arm: "small-built" })) : null;
    return built ?? rows.get(keyOf({ position, arm }))!;
  };
  const all = positions.map((position) => routed.map((arm) => rowOf(position, arm)));
  const plain = all.map((own) => roundOf(own, rule, overhead));
  const arms = armsOf(routed, plain);
  const rounds = withCosts(plain, arms);
  const won = wins(rounds, large);
  // The baseline is the model called directly, without anything of ours.
  const baseline = rounds.map(({ cpu }) => cpu[large]! - overhead);
  const firsts = all.map((own) => [...own.map(({ firstTokenMs }) => firstTokenMs ?? 0), aloneMs]);
  return {
    ...{ rounds, arms },
    unit: Math.max(...routed.map((_, arm) => mean(rounds.map(({ cpu }) => cpu[arm]!)))),
    offloaded: (choices) => mean(choices.map((row) => 1 - row[large]!)),
    summary(choices, of = rounds.map((_, i) => i)) {
      const at = (values: readonly number[]): number[] => of.map((i) => values[i]!);
      const each = (values: readonly number[][]): number[] => at(expected(choices, values));
      const cpu = each(rounds.map((round) => round.cpu));
      const first = mean(each(firsts));
      const share = (arm: number): number => significant(mean(at(choices.map((row) => row[arm]!))));
      return {
        ...interval("quality", each(rounds.map(({ quality }) => quality)), resamples),
        ...interval("win_rate", each(won), resamples),
        ...{ cpu_s: significant(mean(cpu)), requests_per_cpu_s: significant(1 / mean(cpu)) },
        ...ratioInterval("throughput_ratio", at(baseline), cpu, resamples),
        ttft_ms: Math.round(first),
        ttft_ratio: significant(first / mean(at(firsts.map((row) => row[large]!)))),
        shares: Object.fromEntries(names.map((name, arm) => [name, share(arm)])),
      };
    },
  };
}

function roundOf(rows: readonly Row[], rule: Rule, overhead: number): Served {
  const shown = rows[routed.indexOf("small-with")]!;
  return {
    ...{ domain: shown.domain, similarity: shown.similarity },
    contexts: rows.map(({ context }) => context),
    quality: [...rows.map((row) => row[rule]), shown.copy ?? 0],
    cpu: [...rows.map(({ cpu }) => cpu.model + overhead), overhead],
  };
}

type WithInterval<N extends string> = Record<N | `${N}_low` | `${N}_high`, number>;
const withInterval = <N extends string>(name: N, middle: number, low: number, high: number): WithInterval<N> =>
  ({
    [name]: significant(middle),
    [`${name}_low`]: significant(low),
    [`${name}_high`]: significant(high),
  }) as WithInterval<N>;

/** Mean, with an interval over the requests. */
function interval<N extends string>(name: N, values: readonly number[], resamples: number): WithInterval<N> {
  const none = values.map(() => 0);
  const { difference, low, high } = pairedBootstrap(values, none, { random: splitmix64(3), resamples });
  return withInterval(name, difference, low, high);
}

/** Ratio of the sums, with an interval over the requests. */
function ratioInterval<N extends string>(
  name: N,
  above: readonly number[],
  below: readonly number[],
  resamples: number,
): WithInterval<N> {
  const random = splitmix64(5);
  const drawn = Array.from({ length: resamples }, () => {
    const indices = above.map(() => Math.floor(random() * above.length));
    return mean(indices.map((i) => above[i]!)) / mean(indices.map((i) => below[i]!));
  });
  return withInterval(name, mean(above) / mean(below), quantile(drawn, 0.025), quantile(drawn, 0.975));
}
