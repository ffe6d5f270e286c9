// What the router makes of the logged answers: its own policy and learner (bench/routing/learner)
// choose an arm for each request by the logged context, and get the logged answer's quality for
// reward. Every arm's answer to every request is in the log, so nothing is guessed. Pure: random
// sources are made of seeds.
import { FEATURE_NAMES } from "../../algorithms/routing/features.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { routing as routingSection } from "../../config/sections/learning.ts";
import { createLearner, type Learner } from "../routing/learner.ts";
import { shuffled } from "../support/samples.ts";
import { mean } from "../support/statistics.ts";

/** A request as every arm answered it, in the order of the arms. */
export interface Round {
  contexts: number[][];
  quality: number[];
  /** CPU seconds, all of ours included. */
  cpu: number[];
}

export interface ReplayArm {
  name: string;
  /** Its mean CPU seconds over those of the most expensive arm: what the router counts with. */
  cost: number;
}

/** Probability with which each arm is chosen for each request, by the draws that were made. */
export type Choices = number[][];

const prior = routingSection.parse({});
const { indifference } = prior;
const folds = 5;

export function armsOf(names: readonly string[], rounds: readonly Round[]): ReplayArm[] {
  const costs = names.map((_, arm) => mean(rounds.map(({ cpu }) => cpu[arm]!)));
  const most = Math.max(...costs);
  return names.map((name, arm) => ({ name, cost: costs[arm]! / most }));
}

/** The contexts as plan would make them of arms of these costs. */
export function withCosts<R extends Round>(rounds: readonly R[], arms: readonly ReplayArm[]): R[] {
  const at = FEATURE_NAMES.indexOf("armCost");
  return rounds.map((round) => ({
    ...round,
    contexts: round.contexts.map((context, arm) => context.map((value, i) => (i === at ? arms[arm]!.cost : value))),
  }));
}

/**
 * One pass, beginning with nothing known, over the requests in as many random orders; `every`:
 * rewards between two versions of the policy.
 */
export function replayCold(
  rounds: readonly Round[],
  arms: readonly ReplayArm[],
  costWeight: number,
  { orders, every }: { orders: number; every: number },
): Choices {
  const counts = rounds.map(() => arms.map(() => 0));
  for (let seed = 1; seed <= orders; seed++) {
    const learner = createLearner({ arms, costWeight, prior, indifference, every });
    const random = splitmix64(1_000 + seed);
    for (const item of shuffled([...rounds.keys()], seed)) {
      const { contexts, quality } = rounds[item]!;
      const { arm } = learner.choose(contexts, random);
      learner.reward(arm, contexts[arm]!, quality[arm]!);
      counts[item]![arm]! += 1 / orders;
    }
  }
  return counts;
}

/**
 * A stream of `count` requests drawn with replacement, beginning with nothing known: the choices
 * for the last third of them. Requests recur, so they are not new to it.
 */
export function replayStream(
  rounds: readonly Round[],
  arms: readonly ReplayArm[],
  costWeight: number,
  { count, every }: { count: number; every: number },
): { item: number; arm: number }[] {
  const learner = createLearner({ arms, costWeight, prior, indifference, every });
  const random = splitmix64(3_000);
  const chosen = Array.from({ length: count }, () => {
    const item = Math.floor(random() * rounds.length);
    const { contexts, quality } = rounds[item]!;
    const { arm } = learner.choose(contexts, random);
    learner.reward(arm, contexts[arm]!, quality[arm]!);
    return { item, arm };
  });
  return chosen.slice(Math.floor((2 * count) / 3));
}

/**
 * The policy fitted to what every arm answered to the other requests (a logged history), for each
 * fold of the requests in turn, as many draws of each choice.
 */
export function replayWarm(
  rounds: readonly Round[],
  arms: readonly ReplayArm[],
  costWeight: number,
  draws: number,
): Choices {
  const order = shuffled([...rounds.keys()], 77);
  const foldOf = new Map(order.map((item, i) => [item, i % folds]));
  const learners = Array.from({ length: folds }, (_, fold): Learner => {
    const learner = createLearner({ arms, costWeight, prior, indifference, every: Infinity });
    for (const [item, { contexts, quality }] of rounds.entries())
      if (foldOf.get(item) !== fold) arms.forEach((_arm, arm) => learner.reward(arm, contexts[arm]!, quality[arm]!));
    // Solves what it was given.
    learner.expected(rounds[0]!.contexts);
    return learner;
  });
  const random = splitmix64(2_000);
  return rounds.map(({ contexts }, item) => {
    const counts = arms.map(() => 0);
    const learner = learners[foldOf.get(item)!]!;
    for (let draw = 0; draw < draws; draw++) counts[learner.choose(contexts, random).arm]! += 1 / draws;
    return counts;
  });
}

export const always = (rounds: readonly Round[], arm: number): Choices =>
  rounds.map(({ quality }) => quality.map((_, other) => (other === arm ? 1 : 0)));

export const atRandom = (rounds: readonly Round[]): Choices =>
  rounds.map(({ quality }) => quality.map(() => 1 / quality.length));

/** Quality less the price of the CPU time, which is counted in that of the most expensive arm. */
export function valuesOf(rounds: readonly Round[], costWeight: number, unit: number): number[][] {
  return rounds.map(({ quality, cpu }) => quality.map((value, arm) => value - (costWeight * cpu[arm]!) / unit));
}

export const oracle = (values: readonly number[][]): Choices =>
  values.map((row) => {
    const best = row.indexOf(Math.max(...row));
    return row.map((_, arm) => (arm === best ? 1 : 0));
  });

/** Expectation of each request under the choice probabilities. */
export const expected = (choices: Choices, of: readonly number[][]): number[] =>
  choices.map((row, item) => row.reduce((sum, probability, arm) => sum + probability * of[item]![arm]!, 0));

/** Pairs won against one arm, ties half, of each request. */
export const wins = (rounds: readonly Round[], against: number): number[][] =>
  rounds.map(({ quality }) =>
    quality.map((value) => (value > quality[against]! ? 1 : value === quality[against]! ? 0.5 : 0)),
  );
