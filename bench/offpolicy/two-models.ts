// The two-model answers to GSM8K as a log with full information: decisions are sampled by one
// policy, and ten others are estimated from the sample alone, beside what they are worth in truth.
import { existsSync, readFileSync } from "node:fs";
import {
  constantPrior,
  emptyStatistics,
  observe,
  priorPosterior,
  solvePosterior,
} from "../../algorithms/routing/bandit.ts";
import { createFeatures, FEATURE_COUNT, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import type { Estimator } from "../../algorithms/off-policy/estimators.ts";
import { evaluate } from "../../algorithms/off-policy/evaluate.ts";
import { logOf } from "../../algorithms/off-policy/log.ts";
import { crossFitted } from "../../algorithms/off-policy/reward-model.ts";
import { drawIndex, type Random } from "../../algorithms/numeric/random.ts";
import type { ArmPosterior, RouterPolicy } from "../../state/policies/router.ts";
import { targetProbabilities, type Target } from "../../operators/route/target.ts";

interface Question {
  /** Without an embedding: what the router's features say of the text alone. */
  x: number[];
  /** Share of right answers of the small and the large model. */
  correct: [number, number];
}

const armNames = ["small", "large"] as const;
const costs = [0.1, 1];
const belief = constantPrior(FEATURE_COUNT, 0.5, 0.25, 0.1);
const prior = priorPosterior(belief);

/** null where the file is not there. */
export function readQuestions(file: string): Question[] | null {
  if (!existsSync(file)) return null;
  const features = createFeatures();
  type Line = { request: string; small: { correct: boolean }; large: { correct: boolean } };
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => {
    const { request, small, large } = JSON.parse(line) as Line;
    const promptCharacters = request.length;
    return {
      x: features({ question: request, promptCharacters, messages: 1, embedding: null, examples: [] }),
      correct: [Number(small.correct), Number(large.correct)],
    };
  });
}

/**
 * A router that has learnt from so many of the questions, every `step`-th, by both arms' answers.
 */
function learnt(questions: readonly Question[], every: number, inverted = false): RouterPolicy {
  const arms = armNames.map((name, k): [string, ArmPosterior] => {
    const statistics = emptyStatistics(FEATURE_COUNT);
    const used = questions.filter((_, i) => i % every === 0);
    for (const { x, correct } of used) observe(statistics, x, inverted ? 1 - correct[k]! : correct[k]!);
    return [name, { model: name, count: used.length, ...solvePosterior(statistics, belief) }];
  });
  return { version: 1, featureVersion: FEATURE_VERSION, trainedThrough: null, arms: new Map(arms) };
}

interface Policy {
  name: string;
  target: Target;
  costWeight: number;
}

/** Probabilities of both arms, by the code that serves. */
const sharesOf = ({ target, costWeight }: Policy, { x }: Question): readonly number[] =>
  targetProbabilities(
    target,
    armNames.map((arm, k) => ({ arm, model: arm, context: x, bias: costWeight * costs[k]!, probability: 0.5 })),
    { prior },
    { tenant: "default", domain: "default/default" },
  )!;

/**
 * The ten that are estimated: both constants, what was learnt at prices of cost, and worse ones.
 */
function policiesOf(questions: readonly Question[]): Policy[] {
  const router = (name: string, policy: RouterPolicy, costWeight: number): Policy => ({
    ...{ name, costWeight, target: { kind: "router", name, policy } },
  });
  const all = learnt(questions, 1);
  return [
    ...armNames.map((arm): Policy => ({ name: arm, costWeight: 0, target: { kind: "arm", name: arm, arm } })),
    ...[0, 0.2, 0.25, 0.3, 0.4].map((weight) => router(`learnt, cost ${weight}`, all, weight)),
    router("learnt from 17, cost 0.2", learnt(questions, 40), 0.2),
    router("inverted", learnt(questions, 1, true), 0),
    router("inverted from 33", learnt(questions, 20, true), 0.1),
  ];
}

export interface Ranked {
  rank_correlation: number;
  rank_correlation_low: number;
  rank_correlation_high: number;
  rank_correlation_snips: number;
  rank_correlation_ips: number;
  policies: { policy: string; truth: number; dr: number; snips: number; ips: number }[];
}

/** Median over `samples` logs; low and high are the least and the largest of them. */
export function rankPolicies(questions: readonly Question[], samples: number, random: Random): Ranked {
  const policies = policiesOf(questions);
  const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;
  const shares = policies.map((policy) => questions.map((question) => sharesOf(policy, question)));
  const truth = shares.map((of) =>
    mean(of.map((share, i) => share[0]! * questions[i]!.correct[0] + share[1]! * questions[i]!.correct[1])),
  );
  // What serves when nothing is learnt yet: the prior, which explores.
  const fallback: RouterPolicy = { version: 0, featureVersion: FEATURE_VERSION, trainedThrough: null, arms: new Map() };
  const logging: Policy = { name: "", costWeight: 0.3, target: { kind: "router", name: "", policy: fallback } };
  const logged = questions.map((question) => sharesOf(logging, question));

  const names = ["dr", "snips", "ips"] as const satisfies Estimator[];
  const correlations = { dr: [] as number[], snips: [] as number[], ips: [] as number[] };
  const sums = policies.map(() => ({ dr: 0, snips: 0, ips: 0 }));
  for (let n = 0; n < samples; n++) {
    const log = logOf(
      questions.map(({ x, correct }, i) => {
        const chosen = drawIndex(logged[i]!, random);
        const candidates = armNames.map((arm, k) => ({ arm, logged: logged[i]![k]!, cost: costs[k]!, x }));
        return { requestId: `${n}/${i}`, candidates, chosen, reward: correct[chosen]! };
      }),
      FEATURE_COUNT,
    );
    const predicted = crossFitted(log);
    const interval = { kind: "normal", confidence: 0.95, seed: 1 } as const;
    for (const name of names) {
      const estimates = shares.map(
        (of) =>
          evaluate(name, log, Float64Array.from(of.flat()), { cap: 100, costWeight: 0, predicted }, interval).value ??
          0,
      );
      estimates.forEach((value, k) => (sums[k]![name] += value / samples));
      correlations[name].push(rankCorrelation(estimates, truth));
    }
  }
  const sorted = (values: number[]): number[] => [...values].sort((one, other) => one - other);
  const middle = (values: number[]): number => sorted(values)[Math.floor(values.length / 2)]!;
  return {
    rank_correlation: middle(correlations.dr),
    rank_correlation_low: sorted(correlations.dr)[0]!,
    rank_correlation_high: sorted(correlations.dr).at(-1)!,
    rank_correlation_snips: middle(correlations.snips),
    rank_correlation_ips: middle(correlations.ips),
    policies: policies.map(({ name }, k) => ({ policy: name, truth: truth[k]!, ...sums[k]! })),
  };
}

/** Spearman's, of values without ties but by rounding. */
function rankCorrelation(one: readonly number[], other: readonly number[]): number {
  const ranks = (values: readonly number[]): number[] =>
    values.map(
      (value) =>
        values.filter((less) => less < value).length + (values.filter((same) => same === value).length - 1) / 2,
    );
  const [first, second] = [ranks(one), ranks(other)];
  const centre = (one.length - 1) / 2;
  let [top, left, right] = [0, 0, 0];
  first.forEach((rank, i) => {
    top += (rank - centre) * (second[i]! - centre);
    left += (rank - centre) ** 2;
    right += (second[i]! - centre) ** 2;
  });
  return top / Math.sqrt(left * right);
}
