// The figures of serve from the kept answers: arms, the router replayed over them, rivals. Every
// request was answered by every arm, so each choice can be scored. Pure.
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { Figures, Measured } from "../benchmark.ts";
import { always, type Choices, expected, valuesOf } from "../ladder/replay.ts";
import { pairedBootstrap } from "../support/bootstrap.ts";
import { mean, median, significant } from "../support/statistics.ts";
import { costWeights } from "../routing/worth.ts";
import { ablationsOf } from "./ablations.ts";
import { arms as allArms, cold } from "./arms.ts";
import { type Answers, keyOf, type Row } from "./log.ts";
import { rivalsAt } from "./rivals.ts";
import { replayRouter } from "./router.ts";
import { domains } from "./stream.ts";
import { type Field, fieldOf, names } from "./summary.ts";

const defaultWeight = 0.3;
const noCaches = "no caches were built: bench -- serve --only caches";

export interface Effort {
  /** Passes of the router over the stream. */
  draws: number;
  /** Resamples of the bootstrap. */
  resamples: number;
}
export const effort = { full: { draws: 40, resamples: 2_000 }, quick: { draws: 5, resamples: 500 } };

/** Positions that every arm with cold caches answered, in their order. */
export function completeOf(rows: Iterable<Row>): number[] {
  const arms = new Map<number, Set<string>>();
  for (const { position, arm } of rows) arms.set(position, (arms.get(position) ?? new Set()).add(arm));
  return [...arms]
    .filter(([, own]) => cold.every(({ name }) => own.has(name)))
    .map(([position]) => position)
    .sort((a, b) => a - b);
}

export function figuresOf(answers: Answers, { draws, resamples }: Effort): Measured {
  const positions = completeOf(answers.rows.values());
  const overhead = overheadOf(answers);
  const scoring = { overhead: overhead.cpu_s, aloneMs: overhead.alone_ms ?? 0, resamples };
  const field = fieldOf(positions, answers, { ...scoring, rule: "lenient" });
  const strict = fieldOf(positions, answers, { ...scoring, rule: "score" });
  const routerOf = ({ rounds, arms }: Field, costWeight: number, rated = 1) =>
    replayRouter(rounds, { arms, costWeight, draws, rated });
  const choices = routerOf(field, defaultWeight);
  const router = field.summary(choices);
  const rivals = rivalsAt(field.rounds, valuesOf(field.rounds, defaultWeight, field.unit), field.offloaded(choices));
  const worth = costWeights.map((weight) =>
    worthAt(field, weight, weight === defaultWeight ? choices : routerOf(field, weight), resamples),
  );
  const byDomain = domains.map((domain) => ({
    domain,
    indices: field.rounds.flatMap((round, i) => (round.domain === domain ? [i] : [])),
  }));
  const build = answers.sittings.map((sitting) => sitting.build).filter((one) => one !== null);
  const ablations = ablationsOf(answers, resamples);
  return {
    figures: {
      n: positions.length,
      n_by_domain: Object.fromEntries(byDomain.map(({ domain, indices }) => [domain, indices.length])),
      how: "kept answers of live models, one at a time; the router and its rivals are replayed over them",
      primary: {
        ...{ throughput_ratio: router.throughput_ratio, win_rate_low: router.win_rate_low },
        met: router.win_rate_low >= 0.5,
      },
      arms: armsOf(field),
      arms_by_domain: Object.fromEntries(
        byDomain.flatMap(({ domain, indices }) => (indices.length === 0 ? [] : [[domain, armsOf(field, indices)]])),
      ),
      router,
      rivals: {
        ...Object.fromEntries(
          Object.entries(rivals).map(([name, { choices: own, ...more }]) => [name, { ...field.summary(own), ...more }]),
        ),
        token_bucket: null,
      },
      worth: Object.fromEntries(worth.map(({ weight, ...own }) => [String(weight), own])),
      weights_won: worth.filter(({ gain }) => gain > 0).length,
      feedback: Object.fromEntries(
        [1, 10].map((percent) => [percent, field.summary(routerOf(field, defaultWeight, percent / 100))]),
      ),
      strict: { arms: armsOf(strict), router: strict.summary(routerOf(strict, defaultWeight)) },
      truncated: truncatedOf(answers, positions),
      caches: cachesOf(answers),
      build: build.length === 0 ? null : build,
      overhead,
      ablations,
      ...{ load: null, pool: null, large_with: null },
    },
    reasons: {
      "rivals.token_bucket": "it acts under load, which was not run",
      load: "the live router under the Azure trace was not run",
      pool: "only the data's own answers are a pool; answers of the 1.5B were not collected",
      large_with: "not collected: the most expensive arm",
      ...(ablations === null ? { ablations: "no answers: bench -- serve --only ablations" } : {}),
      ...(build.length === 0 ? { build: noCaches, "caches.built": noCaches, "caches.cold": noCaches } : {}),
    },
  };
}

const armsOf = ({ rounds, summary }: Field, of?: readonly number[]): Figures =>
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

/** Means over all sittings, by their requests. */
export function overheadOf({ sittings }: Answers) {
  const measured = sittings.map(({ overhead }) => overhead).filter(({ requests }) => requests > 0);
  const requests = measured.reduce((sum, one) => sum + one.requests, 0);
  const each = (of: "ours" | "servers"): number =>
    measured.reduce((sum, one) => sum + one[of] * one.requests, 0) / Math.max(1, requests);
  const [ours, servers] = [each("ours"), each("servers")];
  return {
    ...{ ours_cpu_s: significant(ours), servers_cpu_s: significant(servers), cpu_s: significant(ours + servers) },
    requests,
    alone_ms: measured.length === 0 ? null : median(measured.map(({ alone_ms: alone }) => alone)),
  };
}

/** Share of the answers that ended at the most tokens. */
const truncatedOf = ({ rows }: Answers, positions: readonly number[]): Figures =>
  Object.fromEntries(
    allArms.map(({ name }) => {
      const own = positions.flatMap((position) => rows.get(keyOf({ position, arm: name })) ?? []);
      return [name, own.length === 0 ? null : significant(mean(own.map(({ finish }) => Number(finish === "length"))))];
    }),
  );

/** The same requests with caches as `precedent kv build` left them, and with cold ones. */
function cachesOf({ rows }: Answers): Figures {
  const pairs = [...rows.values()].flatMap((row) => {
    const other = rows.get(keyOf({ position: row.position, arm: "small-with" }));
    return row.arm !== "small-built" || other === undefined ? [] : [{ cold: other, built: row }];
  });
  if (pairs.length === 0) return { n: 0, built: null, cold: null };
  const of = (own: readonly Row[]) => ({
    cpu_model_s: significant(mean(own.map(({ cpu }) => cpu.model))),
    ttft_ms: significant(median(own.map(({ firstTokenMs }) => firstTokenMs ?? 0))),
    linked_share: significant(mean(own.map(({ usage }) => usage.linked / usage.prompt))),
    quality: significant(mean(own.map(({ lenient }) => lenient))),
  });
  return { n: pairs.length, built: of(pairs.map(({ built }) => built)), cold: of(pairs.map(({ cold }) => cold)) };
}
