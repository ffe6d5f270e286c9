// The figures of serve from the kept answers: arms, the router replayed over them, rivals. Every
// request was answered by every arm, so each choice can be scored. Pure.
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { Figures, Measured } from "../benchmark.ts";
import { pairedBootstrap } from "../support/bootstrap.ts";
import { mean, median, quantile, significant } from "../support/statistics.ts";
import { costWeights } from "../routing/worth.ts";
import { type ArmName, asked } from "./arms.ts";
import { type Answers, keyOf, type Row } from "./log.ts";
import { always, type Choices, expected, type Round, valuesOf, wins } from "./policies.ts";
import { rivalsAt } from "./rivals.ts";
import { replayRouter, withMeasuredCosts } from "./router.ts";
import { domains } from "./stream.ts";

/** Arms between which the router chooses. */
export const routed = ["small-with", "small-without", "large-without"] as const satisfies readonly ArmName[];
/** And the nearest example's answer as it stands: it costs what a request without a model costs. */
const names = [...routed, "reuse"] as const;
const large = routed.indexOf("large-without");
const defaultWeight = 0.3;
const resamples = 2_000;

export const effort = { full: { draws: 40 }, quick: { draws: 5 } };
export type Effort = (typeof effort)["full"];

/** Positions that every arm answered that is asked every request, in their order. */
export function completeOf(rows: Iterable<Row>): number[] {
  const arms = new Map<number, Set<string>>();
  for (const { position, arm } of rows) arms.set(position, (arms.get(position) ?? new Set()).add(arm));
  const needed = asked.filter(({ every }) => every === 1);
  return [...arms]
    .filter(([, own]) => needed.every(({ name }) => own.has(name)))
    .map(([position]) => position)
    .sort((a, b) => a - b);
}

/** Which rule scores word problems: `lenient` is the primary one. */
type Rule = "score" | "lenient";

export function figuresOf(answers: Answers, { draws }: Effort): Measured {
  const positions = completeOf(answers.rows.values());
  const overhead = overheadOf(answers);
  const primary = figuresBy("lenient", positions, answers, overhead.cpu_s, draws);
  const strict = figuresBy("score", positions, answers, overhead.cpu_s, draws);
  const { router } = primary;
  return {
    figures: {
      n: positions.length,
      n_by_domain: Object.fromEntries(domains.map((domain) => [domain, primary.counts[domain] ?? 0])),
      how: "kept answers of live models, one at a time; the router and its rivals are replayed over them",
      primary: {
        throughput_ratio: router.throughput_ratio,
        win_rate_low: router.win_rate_low,
        met: router.win_rate_low >= 0.5,
      },
      arms: primary.arms,
      arms_by_domain: primary.byDomain,
      router,
      rivals: { ...primary.rivals, token_bucket: null },
      worth: primary.worth,
      weights_won: primary.weightsWon,
      feedback: primary.feedback,
      strict: { arms: strict.arms, router: strict.router },
      caches: cachesOf(answers),
      build: answers.sittings.at(-1)?.build ?? null,
      overhead,
      load: null,
      pool: { own: { throughput_ratio: router.throughput_ratio, win_rate: router.win_rate }, large: null },
      large_with: null,
      ablations: null,
    },
    reasons: {
      "rivals.token_bucket": "it acts under load, which was not run",
      load: "the live router under the Azure trace was not run",
      "pool.large": "answers of the 1.5B as examples were not collected",
      large_with: "not collected: the most expensive arm",
      ablations: "random examples, the nearest alone and smaller pools were not collected",
      ...(answers.sittings.at(-1)?.build ? {} : { build: "the kept answers have no measurement of it" }),
    },
  };
}

function overheadOf({ sittings }: Answers) {
  const measured = sittings.map(({ overhead }) => overhead).filter(({ requests }) => requests > 0);
  const total = measured.reduce((sum, { requests }) => sum + requests, 0);
  const each = (of: "ours" | "servers"): number =>
    measured.reduce((sum, one) => sum + one[of] * one.requests, 0) / Math.max(1, total);
  const [ours, servers] = [each("ours"), each("servers")];
  const alone = measured.map(({ alone_ms }) => alone_ms);
  return {
    ...{ ours_cpu_s: significant(ours), servers_cpu_s: significant(servers), cpu_s: significant(ours + servers) },
    ...{ requests: total, alone_ms: alone.length === 0 ? 0 : median(alone) },
  };
}

function figuresBy(rule: Rule, positions: readonly number[], answers: Answers, overhead: number, draws: number) {
  const rows = positions.map((position) => routed.map((arm) => answers.rows.get(keyOf({ position, arm }))!));
  const rounds = withMeasuredCosts(rows.map((own) => roundOf(own, rule, overhead)));
  const won = wins(rounds, large);
  // The baseline is the model called directly, without anything of ours.
  const baselineCpu = rounds.map(({ cpu }) => cpu[large]! - overhead);
  const firsts = rows.map((own) => [...own.map(({ firstTokenMs }) => firstTokenMs ?? 0), 0]);
  const summary = (choices: Choices, of?: readonly number[]) => {
    const kept = of ?? positions.map((_, i) => i);
    const at = (values: readonly number[]): number[] => kept.map((i) => values[i]!);
    const quality = at(
      expected(
        choices,
        rounds.map((round) => round.quality),
      ),
    );
    const cpu = at(
      expected(
        choices,
        rounds.map((round) => round.cpu),
      ),
    );
    const first = mean(at(expected(choices, firsts)));
    const ratio = ratioInterval(at(baselineCpu), cpu);
    return {
      ...interval("quality", quality),
      ...interval("win_rate", at(expected(choices, won))),
      cpu_s: significant(mean(cpu)),
      requests_per_cpu_s: significant(1 / mean(cpu)),
      throughput_ratio: ratio.ratio,
      throughput_ratio_low: ratio.low,
      throughput_ratio_high: ratio.high,
      ttft_ms: Math.round(first),
      ttft_ratio: significant(first / mean(at(firsts.map((row) => row[large]!)))),
      shares: Object.fromEntries(
        names.map((name, arm) => [name, significant(mean(at(choices.map((row) => row[arm]!))))]),
      ),
    };
  };
  const routerAt = (weight: number, rated = 1): Choices => replayRouter(rounds, { weight, draws, rated });
  const router = routerAt(defaultWeight);
  const unit = Math.max(...routed.map((_, arm) => mean(rounds.map(({ cpu }) => cpu[arm]!))));
  const offloaded = (choices: Choices): number => mean(choices.map((row) => 1 - row[large]!));
  const worth = costWeights.map((weight) => {
    const values = valuesOf(rounds, weight, unit);
    const own = weight === defaultWeight ? router : routerAt(weight);
    const of = (choices: Choices): number[] => expected(choices, values);
    const rivals = Object.entries(rivalsAt(rounds, values, offloaded(own)));
    const best = rivals.toSorted(([, a], [, b]) => mean(of(b.choices)) - mean(of(a.choices)))[0]!;
    const gain = pairedBootstrap(of(own), of(best[1].choices), { random: splitmix64(9), resamples });
    return {
      ...{ weight, router: significant(mean(of(own))), best_rival: best[0] },
      best_rival_worth: significant(mean(of(best[1].choices))),
      ...{ gain: significant(gain.difference), gain_low: significant(gain.low), gain_high: significant(gain.high) },
      rivals: Object.fromEntries(rivals.map(([name, { choices }]) => [name, significant(mean(of(choices)))])),
    };
  });
  const rivals = rivalsAt(rounds, valuesOf(rounds, defaultWeight, unit), offloaded(router));
  const indices = (domain: string): number[] => rows.flatMap(([row], i) => (row!.domain === domain ? [i] : []));
  return {
    counts: Object.fromEntries(domains.map((domain) => [domain, indices(domain).length])),
    arms: Object.fromEntries(names.map((name, arm) => [name, summary(always(rounds, arm))])),
    byDomain: Object.fromEntries(
      domains
        .filter((domain) => indices(domain).length > 0)
        .map((domain) => [
          domain,
          Object.fromEntries(names.map((name, arm) => [name, summary(always(rounds, arm), indices(domain))])),
        ]),
    ),
    router: summary(router),
    rivals: Object.fromEntries(
      Object.entries(rivals).map(([name, { choices, ...more }]) => [name, { ...summary(choices), ...more }]),
    ),
    worth,
    weightsWon: worth.filter(({ gain }) => gain > 0).length,
    feedback: Object.fromEntries(
      [1, 10, 100].map((percent) => [
        percent,
        summary(percent === 100 ? router : routerAt(defaultWeight, percent / 100)),
      ]),
    ),
  };
}

function roundOf(rows: readonly Row[], rule: Rule, overhead: number): Round {
  const shown = rows[routed.indexOf("small-with")]!;
  return {
    domain: shown.domain,
    similarity: shown.similarity,
    contexts: rows.map(({ context }) => context),
    quality: [...rows.map((row) => row[rule]), shown.copy ?? 0],
    cpu: [...rows.map(({ cpu }) => cpu.model + overhead), overhead],
  };
}

/** Mean, with an interval over the requests. */
function interval<N extends string>(name: N, values: readonly number[]) {
  const none = values.map(() => 0);
  const { difference, low, high } = pairedBootstrap(values, none, { random: splitmix64(3), resamples });
  const figures = { [name]: difference, [`${name}_low`]: low, [`${name}_high`]: high };
  return Object.fromEntries(Object.entries(figures).map(([key, value]) => [key, significant(value)])) as Record<
    N | `${N}_low` | `${N}_high`,
    number
  >;
}

/** Ratio of the sums, with an interval over the requests. */
function ratioInterval(above: readonly number[], below: readonly number[]) {
  const random = splitmix64(5);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const drawn = Array.from({ length: resamples }, () => {
    let [over, under] = [0, 0];
    for (let k = 0; k < above.length; k++) {
      const i = Math.floor(random() * above.length);
      over += above[i]!;
      under += below[i]!;
    }
    return over / under;
  });
  return {
    ratio: significant(sum(above) / sum(below)),
    low: significant(quantile(drawn, 0.025)),
    high: significant(quantile(drawn, 0.975)),
  };
}

/** The same requests with caches as `precedent kv build` left them, and without KV-cache reuse. */
function cachesOf({ rows }: Answers): Figures {
  const pairs = [...rows.values()].flatMap((cold) => {
    const built =
      cold.arm === "small-full" ? rows.get(keyOf({ position: cold.position, arm: "small-with" })) : undefined;
    return built === undefined ? [] : [{ cold, built }];
  });
  if (pairs.length === 0) return { n: 0, built: null, cold: null };
  const of = (own: readonly Row[]) => ({
    cpu_model_s: significant(mean(own.map(({ cpu }) => cpu.model))),
    ttft_ms: significant(median(own.map(({ firstTokenMs }) => firstTokenMs ?? 0))),
    linked_share: significant(mean(own.map(({ usage }) => usage.linked / usage.prompt))),
    quality: significant(mean(own.map(({ lenient }) => lenient))),
  });
  return {
    n: pairs.length,
    built: of(pairs.map(({ built }) => built)),
    cold: of(pairs.map(({ cold }) => cold)),
  };
}
