// The figures of serve from the kept answers: arms, the router replayed over them, rivals. Every
// request was answered by every arm, so each choice can be scored. Pure.
import type { Figures, Measured } from "../benchmark.ts";
import { mean, median, significant } from "../support/statistics.ts";
import { ablationsOf } from "./ablations.ts";
import { arms as allArms, cold } from "./arms.ts";
import { armsOf, choiceFigures, defaultWeight, type Effort, routerOf } from "./choices.ts";
import { loadFigures } from "./load.ts";
import { type Answers, keyOf, type Row } from "./log.ts";
import { type Domain, domains } from "./stream.ts";
import { fieldOf } from "./summary.ts";

const noCaches = "no caches were built: bench -- serve --only caches";

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

/** times: of a trace of arrivals, milliseconds, ascending; null: there is none. */
export function figuresOf(answers: Answers, { draws, resamples }: Effort, times: readonly number[] | null): Measured {
  const positions = completeOf(answers.rows.values());
  const overhead = overheadOf(answers);
  const scoring = { overhead: overhead.cpu_s, aloneMs: overhead.alone_ms ?? 0, resamples };
  const field = fieldOf(positions, answers, { ...scoring, rule: "lenient", caches: "cold" });
  const strict = fieldOf(positions, answers, { ...scoring, rule: "score", caches: "cold" });
  const caches = cachesOf(answers);
  const warm = caches.n === 0 ? null : fieldOf(positions, answers, { ...scoring, rule: "lenient", caches: "built" });
  const build = answers.sittings.map((sitting) => sitting.build).filter((one) => one !== null);
  const ablations = ablationsOf(answers, resamples);
  const count = (domain: Domain): number => field.rounds.filter((round) => round.domain === domain).length;
  return {
    figures: {
      n: positions.length,
      n_by_domain: Object.fromEntries(domains.map((domain) => [domain, count(domain)])),
      how: "kept answers of live models, one at a time; the router and its rivals are replayed over them",
      ...choiceFigures(field, { draws, resamples }),
      feedback: Object.fromEntries(
        [1, 10].map((percent) => [percent, field.summary(routerOf(field, draws, undefined, percent / 100))]),
      ),
      strict: { arms: armsOf(strict), router: strict.summary(routerOf(strict, draws)) },
      truncated: truncatedOf(answers, positions),
      caches,
      with_caches: warm === null ? null : choiceFigures(warm, { draws, resamples }),
      build: build.length === 0 ? null : build,
      overhead,
      ablations,
      load:
        times === null
          ? null
          : loadFigures(warm ?? field, { draws: Math.ceil(draws / 2), times, costWeight: defaultWeight }),
      ...{ pool: null, large_with: null },
    },
    reasons: {
      "rivals.token_bucket": "it acts under load alone: see load",
      ...(times === null ? { load: "there is no azure-llm-conv-2023.csv in the data" } : {}),
      pool: "only the data's own answers are a pool; answers of the 1.5B were not collected",
      large_with: "not collected: the most expensive arm",
      ...(ablations === null ? { ablations: "no answers: bench -- serve --only ablations" } : {}),
      ...(caches.n === 0 ? { with_caches: noCaches, "caches.built": noCaches, "caches.cold": noCaches } : {}),
      ...(build.length === 0 ? { build: noCaches } : {}),
    },
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
function cachesOf({ rows }: Answers) {
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
