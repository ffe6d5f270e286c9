// Outcomes of single requests to the rows of the specification. Pure.
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { pairedBootstrap } from "../support/bootstrap.ts";
import { mean, median, significant, spread } from "../support/statistics.ts";
import type { Measured, Outcome } from "./measure.ts";

export interface Row {
  workload: string;
  convention: string | null;
  policy: string;
  /** Requests. */
  n: number;
  /** Tokens of the prompts, median. */
  tokens: number;
  recomputed: number;
  kl: number;
  kl_low: number;
  kl_high: number;
  /** KL of the first token alone. */
  first_kl: number;
  rouge_l: number;
  rouge_l_low: number;
  rouge_l_high: number;
  /** With the answer of full as the right one. */
  f1_with_full: number;
  f1: number | null;
  /** Less that of full on the same requests, 95 % by paired bootstrap. */
  f1_difference: number | null;
  f1_low: number | null;
  f1_high: number | null;
  ttft_ms: number;
  ttft_min: number;
  ttft_max: number;
  /** Full against this, on the same requests, median. */
  ttft_ratio: number;
  cpu_ms: number;
}

interface Pair {
  outcome: Outcome;
  full: Outcome;
  tokens: number;
}

/** In the order in which policies were measured first. */
export function rowsOf(workload: string, measured: readonly Measured[]): Row[] {
  const groups = new Map<string, Pair[]>();
  for (const { outcomes, tokens } of measured) {
    const full = outcomes.find(({ policy }) => policy === "full");
    if (full === undefined) throw new Error("every request is prefilled in full once");
    for (const outcome of outcomes) {
      const name = `${outcome.convention}/${outcome.policy}`;
      const group = groups.get(name);
      if (group === undefined) groups.set(name, [{ outcome, full, tokens }]);
      else group.push({ outcome, full, tokens });
    }
  }
  return [...groups.values()].map((pairs) => rowOf(workload, pairs));
}

function rowOf(workload: string, pairs: readonly Pair[]): Row {
  const { convention, policy } = pairs[0]!.outcome;
  const of = (value: (outcome: Outcome) => number): number[] => pairs.map(({ outcome }) => value(outcome));
  const interval = (value: (outcome: Outcome) => number) =>
    pairedBootstrap(
      of(value),
      of(() => 0),
      { random: splitmix64(5), resamples: 2_000 },
    );
  const kl = interval((outcome) => outcome.kl);
  const rouge = interval(({ rougeL }) => rougeL);
  const ttft = spread(of(({ ttftMs }) => ttftMs));
  const compared = pairs.flatMap(({ outcome, full }) =>
    outcome.f1 === null || full.f1 === null ? [] : [{ own: outcome.f1, full: full.f1 }],
  );
  const f1 =
    compared.length === 0
      ? null
      : pairedBootstrap(
          compared.map(({ own }) => own),
          compared.map(({ full }) => full),
          { random: splitmix64(3) },
        );
  const orNull = (value: number | undefined): number | null => (value === undefined ? null : significant(value));
  return {
    workload,
    convention,
    policy,
    n: pairs.length,
    tokens: median(pairs.map(({ tokens }) => tokens)),
    recomputed: significant(mean(of(({ recomputed }) => recomputed))),
    kl: significant(kl.difference),
    kl_low: significant(kl.low),
    kl_high: significant(kl.high),
    first_kl: significant(mean(of(({ firstKl }) => firstKl))),
    rouge_l: significant(rouge.difference),
    rouge_l_low: significant(rouge.low),
    rouge_l_high: significant(rouge.high),
    f1_with_full: significant(mean(of(({ f1WithFull }) => f1WithFull))),
    f1: compared.length === 0 ? null : significant(mean(compared.map(({ own }) => own))),
    f1_difference: orNull(f1?.difference),
    f1_low: orNull(f1?.low),
    f1_high: orNull(f1?.high),
    ttft_ms: significant(ttft.median),
    ttft_min: significant(ttft.minimum),
    ttft_max: significant(ttft.maximum),
    ttft_ratio: significant(median(pairs.map(({ outcome, full }) => full.ttftMs / outcome.ttftMs))),
    cpu_ms: significant(median(of(({ cpuMs }) => cpuMs))),
  };
}

export interface KlDifference {
  workload: string;
  convention: string | null;
  policy: string;
  /** What it is compared with. */
  against: string;
  /** Requests. */
  n: number;
  /** KL less that of the other, nats: negative is better. 95 % by paired bootstrap. */
  difference: number;
  low: number;
  high: number;
}

/** KL differences between all linked outcomes and one of them, on the same requests. */
export function klDifferences(
  workload: string,
  measured: readonly Measured[],
  against: Pick<Outcome, "convention" | "policy">,
): KlDifference[] {
  const same = (one: Pick<Outcome, "convention" | "policy">, other: typeof one): boolean =>
    one.convention === other.convention && one.policy === other.policy;
  const named = `${against.convention}, ${against.policy}`;
  const asked = (measured[0]?.outcomes ?? []).filter((one) => one.convention !== null && !same(one, against));
  return asked.flatMap(({ convention, policy }) => {
    const pairs = measured.flatMap(({ outcomes }) => {
      const own = outcomes.find((one) => same(one, { convention, policy }));
      const other = outcomes.find((one) => same(one, against));
      return own === undefined || other === undefined ? [] : [{ own: own.kl, other: other.kl }];
    });
    if (pairs.length === 0) return [];
    const { difference, low, high } = pairedBootstrap(
      pairs.map(({ own }) => own),
      pairs.map(({ other }) => other),
      { random: splitmix64(7) },
    );
    const figures = { difference: significant(difference), low: significant(low), high: significant(high) };
    return [{ workload, convention, policy, against: named, n: pairs.length, ...figures }];
  });
}

/**
 * The least KL among what recomputes at most a quarter and was asked of every request; undefined
 * when nothing was measured.
 */
export function bestOf(rows: readonly Row[], workload: string): Row | undefined {
  const own = rows.filter((row) => row.workload === workload);
  const all = Math.max(0, ...own.map(({ n }) => n));
  return own
    .filter(({ convention, recomputed, n }) => convention !== null && recomputed <= 0.25 && n === all)
    .sort((one, other) => one.kl - other.kl)[0];
}
