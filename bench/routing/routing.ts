// bench -- routing: how well the router tells which of two models should answer, on a log of both
// models' graded answers. RouteLLM's measures (APGR, CPT) of the policy fitted offline from both
// labels, learnt from one pass of bandit feedback (cold), and fitted from a log first and then
// continued (warm), beside chance, word count, a logistic regression on the same features and the
// oracle; and the regret of learning beside the best constant arm. Repeated cross-validation:
// nothing is ever fitted to the requests that it is scored on. Intervals by bootstrap of requests.
import { FEATURE_VERSION, createFeatures } from "../../algorithms/routing/features.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { routing as routingSection } from "../../config/sections/learning.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { embeddings } from "../loop/history.ts";
import { mean, quantile, significant } from "../support/statistics.ts";
import { apgr, cpt, curveOf, meanCurve, type Curve } from "./curve.ts";
import { loadRoutingLog, type LoggedRequest } from "./data.ts";
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

interface Plan {
  repeats: number;
  folds: number;
  resamples: number;
}
const quick: Plan = { repeats: 3, folds: 5, resamples: 400 };
const full: Plan = { repeats: 20, folds: 5, resamples: 2_000 };

/** The log has no prices: the small model is taken to cost a twentieth. */
const costs = { small: 0.05, large: 1 };

export const routing: Benchmark = {
  name: "routing",
  about: "APGR, CPT and regret of the router on a log of two models' graded answers",
  run,
};

async function run(context: BenchContext): Promise<Measured> {
  const plan = context.quick ? quick : full;
  const { rows, models } = await loadRoutingLog(context.data);
  const settings = routingSection.parse({});
  const world: World = {
    rows,
    contexts: await contextsOf(rows, context),
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

  const bar = context.progress("splits", plan.repeats * plan.folds, "splits");
  const repeats = Array.from({ length: plan.repeats }, (_, repeat): Split[] => {
    const folds = rows.map(({ request }) => foldOf(request, repeat, plan.folds));
    return Array.from({ length: plan.folds }, (__, fold) => {
      context.signal.throwIfAborted();
      const indices = (inside: boolean): number[] => folds.flatMap((of, i) => ((of === fold) === inside ? [i] : []));
      const split = evaluateSplit(world, indices(false), indices(true), 1_000 * repeat + fold);
      bar.update(repeat * plan.folds + fold + 1);
      return split;
    });
  });
  bar.finish();

  const gains = Float64Array.from(rows, gainOf);
  const figuresAt = (weights: Float64Array): Record<string, number> => {
    const curves = Object.fromEntries(
      methods.map((method) => [
        method,
        meanCurve(
          repeats.map((splits) =>
            curveOf(
              splits.map(({ rankings }) => rankings[method]),
              gains,
              weights,
            ),
          ),
        ),
      ]),
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
  const resampled = Array.from({ length: plan.resamples }, () => figuresAt(resample(rows, random)));
  const reasons: Record<string, string> = {};
  const figures: Record<string, number | null> = {};
  for (const [name, value] of Object.entries(measured)) {
    const values = resampled.map((one) => one[name]!).filter(Number.isFinite);
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

/** x of each request as plan makes it, for arms that are shown no examples. */
async function contextsOf(rows: readonly LoggedRequest[], context: BenchContext): Promise<number[][][]> {
  const { vectors } = await embeddings(
    rows.map(({ request }) => request),
    context,
  );
  const features = createFeatures();
  return rows.map(({ request }, i) => {
    const bytes = vectors[i]!;
    const embedding = Float32Array.from({ length: bytes.length / 4 }, (_, k) => bytes.readFloatLE(4 * k));
    const asked = { question: request, promptCharacters: request.length, messages: 1, embedding, examples: [] };
    return [features({ ...asked, cost: costs.small }), features({ ...asked, cost: costs.large })];
  });
}

/** Mean loss a request beside the better arm of each. */
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

/**
 * How often each row is drawn, when prompts are drawn with replacement: all rows of one together.
 */
function resample(rows: readonly LoggedRequest[], random: () => number): Float64Array {
  const prompts = [...new Set(rows.map(({ request }) => request))];
  const counts = new Map<string, number>();
  for (let i = 0; i < prompts.length; i++) {
    const prompt = prompts[Math.floor(random() * prompts.length)]!;
    counts.set(prompt, (counts.get(prompt) ?? 0) + 1);
  }
  return Float64Array.from(rows, ({ request }) => counts.get(request) ?? 0);
}
