// The part of bench -- routing on a log of two models' graded answers: RouteLLM's measures (APGR,
// CPT) of the policy fitted offline from both labels, learnt from one pass of bandit feedback
// (cold), and fitted from a log first and then continued (warm), beside chance, word count, a
// logistic regression on the same features and the oracle; and the regret of learning beside the
// best constant arm. Repeated cross-validation: nothing is ever fitted to the requests that it is
// scored on. Intervals by bootstrap of requests.
import { FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { routing as routingSection } from "../../config/sections/learning.ts";
import type { BenchContext, Measured } from "../benchmark.ts";
import { mean, quantile, significant } from "../support/statistics.ts";
import { apgr, cpt, curveOf, meanCurve, type Curve } from "./curve.ts";
import { contextsOf, type Contexts } from "./contexts.ts";
import type { RoutingLog } from "./data.ts";
import {
  evaluateSplit,
  foldOf,
  gainOf,
  lossOf,
  methods,
  type Loss,
  type Method,
  type Split,
  type World,
} from "./evaluate.ts";
import { resampled } from "./figures.ts";
import { twoModelCosts as costs } from "./log.ts";

interface Plan {
  repeats: number;
  folds: number;
  resamples: number;
}
const quick: Plan = { repeats: 3, folds: 5, resamples: 400 };
const full: Plan = { repeats: 20, folds: 5, resamples: 2_000 };

export async function measureTwoModels({ rows, models }: RoutingLog, context: BenchContext): Promise<Measured> {
  const plan = context.quick ? quick : full;
  const contexts = await contextsOf(
    rows.map(({ request }) => request),
    context,
  );
  const settings = routingSection.parse({});
  const world = worldOf(rows, contexts);
  const repeats = splitsOf(world, plan, context);
  const gains = Float64Array.from(rows, gainOf);
  const figuresAt = (weights: Float64Array): Record<string, number> => {
    const curves = Object.fromEntries(
      methods.map((method) => [method, curveOver(repeats, method, gains, weights)]),
    ) as Record<Method, Curve>;
    return {
      ...Object.fromEntries(methods.map((method) => [`apgr_${method}`, apgr(curves[method])])),
      cpt50_full: cpt(curves.full, 0.5),
      cpt80_full: cpt(curves.full, 0.8),
      ...regrets(world, repeats.flat(), weights),
    };
  };
  const measured = figuresAt(new Float64Array(rows.length).fill(1));
  const random = splitmix64(5);
  const requests = rows.map(({ request }) => request);
  const draws = resampled(requests, random, plan.resamples).map(figuresAt);
  const reasons: Record<string, string> = {};
  const figures: Record<string, number | null> = {};
  for (const [name, value] of Object.entries(measured)) {
    const values = draws.map((one) => one[name]!).filter(Number.isFinite);
    const none = values.length === 0 || !Number.isFinite(value);
    figures[name] = none ? null : significant(value);
    figures[`${name}_low`] = none ? null : significant(quantile(values, 0.025));
    figures[`${name}_high`] = none ? null : significant(quantile(values, 0.975));
    if (none) reasons[name] = "the large model is no better than the small one on these requests: there is no gap";
  }
  return {
    figures: {
      n: rows.length,
      prompts: new Set(rows.map(({ request }) => request)).size,
      models,
      quality: {
        small: significant(mean(rows.map(({ small }) => small))),
        large: significant(mean(rows.map(({ large }) => large))),
      },
      split: `${plan.folds} folds by hash of the prompt, ${plan.repeats} times; APGR and CPT on the test folds, thresholds at equal shares of each fold`,
      lambda_c: settings.costWeight,
      indifference: settings.indifference,
      costs,
      feature_version: FEATURE_VERSION,
      ...figures,
    },
    reasons,
  };
}

export function worldOf(rows: RoutingLog["rows"], contexts: Contexts): World {
  const settings = routingSection.parse({});
  return {
    rows,
    contexts: rows.map((_, row) => [contexts.at(row, costs.small), contexts.at(row, costs.large)]),
    learner: {
      arms: [
        { name: "small", cost: costs.small },
        { name: "large", cost: costs.large },
      ],
      costWeight: settings.costWeight,
      prior: settings,
      indifference: settings.indifference,
      every: 8,
    },
  };
}

/** The same folds for every world of the same rows. */
export function splitsOf(
  world: World,
  { repeats, folds: count }: Pick<Plan, "repeats" | "folds">,
  { progress, signal }: Pick<BenchContext, "progress" | "signal">,
): Split[][] {
  const bar = progress("splits", repeats * count, "splits");
  const all = Array.from({ length: repeats }, (_, repeat): Split[] => {
    const folds = world.rows.map(({ request }) => foldOf(request, repeat, count));
    return Array.from({ length: count }, (__, fold) => {
      signal.throwIfAborted();
      const indices = (inside: boolean): number[] => folds.flatMap((of, i) => ((of === fold) === inside ? [i] : []));
      const split = evaluateSplit(world, indices(false), indices(true), 1_000 * repeat + fold);
      bar.update(repeat * count + fold + 1);
      return split;
    });
  });
  bar.finish();
  return all;
}

/** weights: of the rows. */
export const curveOver = (
  repeats: readonly Split[][],
  method: Method,
  gains: Float64Array,
  weights: Float64Array,
): Curve =>
  meanCurve(
    repeats.map((splits) =>
      curveOf(
        splits.map(({ rankings }) => rankings[method]),
        gains,
        weights,
      ),
    ),
  );

/** Mean loss per request against the better arm of each. */
function regrets(world: World, splits: readonly Split[], weights: Float64Array): Record<string, number> {
  const of = (losses: readonly Loss[]): number => {
    let [sum, total] = [0, 0];
    for (const { index, loss } of losses) {
      sum += weights[index]! * loss;
      total += weights[index]!;
    }
    return total > 0 ? sum / total : Number.NaN;
  };
  const constant = (arm: number): number =>
    of(world.rows.map((_, index) => ({ index, loss: lossOf(world, index, arm) })));
  const [small, large] = [constant(0), constant(1)];
  const passes = ["online", "online_first_half", "warm", "full"] as const;
  return {
    ...Object.fromEntries(passes.map((name) => [`regret_${name}`, of(splits.flatMap(({ losses }) => losses[name]))])),
    regret_small: small,
    regret_large: large,
    regret_best_constant: Math.min(small, large),
    regret_random: (small + large) / 2,
  };
}
