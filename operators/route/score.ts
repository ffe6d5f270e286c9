// The scores of the arms for one request (docs/design/routing.md, Score): predicted quality less
// cost, load and saturation, a Thompson sample of it, and the exact chance to win.
import { predict, sample, triedWith, type Posterior, type Prediction } from "../../algorithms/routing/bandit.ts";
import { shifted } from "../../algorithms/routing/domain-shifts.ts";
import {
  loadPenalty,
  pressure,
  saturationPenalty,
  type Load,
  type LoadBias,
  type SaturationBias,
} from "../../algorithms/routing/load-bias.ts";
import { winProbabilities } from "../../algorithms/routing/propensity.ts";
import type { Random } from "../../algorithms/numeric/random.ts";
import type { ArmScore, ExampleTrial, ShownExample } from "../../schemas/types.ts";
import type { RouteArm } from "../../arms/routed.ts";
import { bestLast, type DrawnOrder } from "../../algorithms/selection/example-order.ts";
import type { Beliefs } from "../../state/policies/router.ts";

/** An arm that may answer, with its context x and what it would be shown. */
export interface Contender {
  arm: RouteArm;
  context: number[];
  examples: ShownExample[];
  /** Order of the examples; absent: the most helpful last. */
  order?: DrawnOrder | undefined;
  trial: ExampleTrial | null;
  /** Share of the prompt that the arm's engine is expected to have cached; 0 by default. */
  cachedShare?: number;
  /** C_i with it; the arm's own by default. */
  cost?: number;
}

export interface Scored {
  scores: ArmScore[];
  /** Probability of each arm to be the best by what is believed, if there were no load. */
  loadFree: number[];
  chosen: number;
}

export interface Exploring {
  /** Quality that is known to within it is hardly tried any more (triedWith()); 0 by default. */
  indifference?: number;
  /** Share of the requests whose arm is drawn evenly, [0, 1]; 0 by default. */
  explorationFloor?: number;
}

export interface Biases extends Exploring {
  /** lambda_c. */
  costWeight: number;
  load: Load;
  loadBias: LoadBias;
  saturationBias: SaturationBias;
}

/** Predicted quality; of an unknown arm or model by the policy's prior, else the configured one. */
export function predicted(
  { arms, prior: own, here }: Beliefs,
  prior: Posterior,
  { name, model }: Pick<RouteArm, "name" | "model">,
  context: readonly number[],
): Prediction {
  const learnt = arms.get(name);
  const isKnown = learnt !== undefined && learnt.model === model;
  const prediction = predict(isKnown ? learnt : (own ?? prior), context);
  const shift = isKnown ? here?.arms.get(name) : here?.prior;
  return shift === undefined ? prediction : shifted(prediction, shift, context);
}

/** Exact probability of each arm, given prediction and bias; evenly with the floor's chance. */
export const choiceProbabilities = (
  scores: readonly Pick<ArmScore, "mean" | "deviation" | "bias">[],
  { indifference = 0, explorationFloor = 0 }: Exploring = {},
): number[] =>
  winProbabilities(
    scores.map(({ mean, deviation, bias }) => ({ mean: mean - bias, deviation: triedWith(deviation, indifference) })),
  ).map((win) => (1 - explorationFloor) * win + explorationFloor / scores.length);

/** Throws RangeError when the policy leads to anything not finite. */
export function scoreArms(
  contenders: readonly Contender[],
  policy: Beliefs,
  prior: Posterior,
  { costWeight, load, loadBias, saturationBias, indifference = 0, explorationFloor = 0 }: Biases,
  random: Random,
): Scored {
  const scores = contenders.map((contender): ArmScore => {
    const { arm, context, examples, order = bestLast, trial, cachedShare = 0, cost = arm.cost } = contender;
    const prediction = predicted(policy, prior, arm, context);
    const saturation = saturationPenalty(load.byArm.get(arm.name) ?? 0, saturationBias);
    return {
      arm: arm.name,
      model: arm.model,
      cost,
      context,
      ...prediction,
      sampled: sample({ ...prediction, deviation: triedWith(prediction.deviation, indifference) }, random),
      bias: costWeight * cost + loadPenalty(load.costlier, arm.cost, loadBias) + saturation,
      saturation,
      cachedShare,
      probability: 0,
      examples,
      ...order,
      trial,
    };
  });
  const probabilities = choiceProbabilities(scores, { indifference, explorationFloor });
  const unloaded = pressure(load.costlier, loadBias) === 0 && scores.every(({ saturation }) => saturation === 0);
  // The whole deviation: what feedback tells does not depend on what is worth trying.
  const loadFree =
    unloaded && indifference === 0
      ? probabilities
      : choiceProbabilities(
          scores.map(({ mean, deviation, cost }) => ({ mean, deviation, bias: costWeight * cost })),
          { explorationFloor },
        );
  for (const [i, score] of scores.entries()) score.probability = probabilities[i]!;
  const even = explorationFloor > 0 && random() < explorationFloor;
  return {
    scores,
    loadFree,
    chosen: even
      ? Math.floor(random() * scores.length)
      : largest(
          scores.map(({ sampled, bias: penalty }) => sampled - penalty),
          random,
        ),
  };
}

/** Index of the largest value; ties are broken evenly, as the probabilities assume. */
function largest(values: readonly number[], random: Random): number {
  const best = Math.max(...values);
  const winners = values.flatMap((value, i) => (value === best ? [i] : []));
  return winners.length === 1 ? winners[0]! : winners[Math.floor(random() * winners.length)]!;
}

/** Whether the probabilities' deviation is at most this share of its maximum; 0: never. */
export function undecided(probabilities: readonly number[], within = 0.2): boolean {
  const n = probabilities.length;
  if (n < 2 || within <= 0) return false;
  const variance = probabilities.reduce((sum, p) => sum + (p - 1 / n) ** 2, 0) / n;
  return Math.sqrt(variance) <= within * Math.sqrt(1 / n - 1 / n ** 2);
}
