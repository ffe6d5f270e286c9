// The router's algorithm without the system around it: the same scores, the same posterior, but
// every reward is learnt from before the next request. What the real loop loses against it is the
// price of the delay. Pure: the random source is passed in.
import {
  constantPrior,
  emptyStatistics,
  observe,
  priorPosterior,
  solvePosterior,
} from "../../algorithms/routing/bandit.ts";
import type { Random } from "../../algorithms/numeric/random.ts";
import type { RouteArm } from "../../arms/routed.ts";
import { scoreArms } from "../../operators/route/score.ts";
import type { ArmPosterior } from "../../state/policies/router.ts";

/** One request as every arm would see and answer it; both in the order of the arms. */
export interface Round {
  contexts: number[][];
  rewards: number[];
}

export interface MemoryOptions {
  /** Normalised costs. */
  arms: readonly { name: string; cost: number }[];
  costWeight: number;
  prior: { mean: number; variance: number; noise: number };
  /** As routing.indifference. */
  indifference: number;
  random: Random;
}

/** Index of the arm chosen in every round. */
export function learnInMemory(
  rounds: readonly Round[],
  { arms, costWeight, prior, indifference, random }: MemoryOptions,
): number[] {
  const dimension = rounds[0]?.contexts[0]?.length ?? 0;
  const belief = constantPrior(dimension, prior.mean, prior.variance, prior.noise);
  const nothing = priorPosterior(belief);
  const routeArms = arms.map(({ name, cost }): RouteArm => ({
    name,
    model: name,
    cost,
    examples: true,
    template: "chat-turns",
    maxTokens: 64,
    prices: { prompt: 0, completion: 0 },
  }));
  const known = arms.map(() => emptyStatistics(dimension));
  const learnt = new Map<string, ArmPosterior>();
  const unloaded = {
    load: { costlier: 0, byArm: new Map() },
    loadBias: { threshold: 1, gamma: 1, lambda0: 0 },
    saturationBias: { threshold: 1, gamma: 1, weight: 0 },
  };
  return rounds.map(({ contexts, rewards }) => {
    const contenders = routeArms.map((arm, i) => ({ arm, context: contexts[i] ?? [], examples: [], trial: null }));
    const policy = { version: 1, featureVersion: 1, trainedThrough: null, arms: learnt };
    const { chosen } = scoreArms(contenders, policy, nothing, { costWeight, indifference, ...unloaded }, random);
    const statistics = known[chosen]!;
    observe(statistics, contexts[chosen] ?? [], rewards[chosen] ?? 0);
    const { name } = arms[chosen]!;
    const count = (learnt.get(name)?.count ?? 0) + 1;
    learnt.set(name, { model: name, count, ...solvePosterior(statistics, belief) });
    return chosen;
  });
}

export interface Outcome {
  reward: number;
  cost: number;
  /** Share of requests that went to the last arm. */
  largeShare: number;
  /** Summed over the requests, against the arm that was best for each. */
  regret: number;
}

/** What choices came to. Regret counts reward less costWeight times cost. */
export function outcomeOf(
  rounds: readonly Round[],
  chosen: readonly number[],
  { arms, costWeight }: Pick<MemoryOptions, "arms" | "costWeight">,
): Outcome {
  const value = ({ rewards }: Round, arm: number): number => (rewards[arm] ?? 0) - costWeight * (arms[arm]?.cost ?? 0);
  const each = rounds.map((round, i) => {
    const arm = chosen[i] ?? 0;
    const best = Math.max(...arms.map((_, other) => value(round, other)));
    return { reward: round.rewards[arm] ?? 0, cost: arms[arm]?.cost ?? 0, regret: best - value(round, arm), arm };
  });
  const sum = (of: (one: (typeof each)[number]) => number): number => each.reduce((total, one) => total + of(one), 0);
  const count = Math.max(1, each.length);
  return {
    reward: sum(({ reward }) => reward) / count,
    cost: sum(({ cost }) => cost) / count,
    largeShare: sum(({ arm }) => (arm === arms.length - 1 ? 1 : 0)) / count,
    regret: sum(({ regret }) => regret),
  };
}

/** Cumulative regret at about `points` places: [[requests, regret]]. */
export function regretCurve(
  rounds: readonly Round[],
  chosen: readonly number[],
  options: Pick<MemoryOptions, "arms" | "costWeight">,
  points = 20,
): [number, number][] {
  const step = Math.max(1, Math.ceil(rounds.length / points));
  const curve: [number, number][] = [];
  let regret = 0;
  for (let from = 0; from < rounds.length; from += step) {
    const to = Math.min(rounds.length, from + step);
    regret += outcomeOf(rounds.slice(from, to), chosen.slice(from, to), options).regret;
    curve.push([to, regret]);
  }
  return curve;
}

/**
 * Share of calls of the large arm saved against a random mix of the two arms that has the same mean
 * reward; null where such a mix does not exist (the arms are equally good, or the choices did worse
 * than always the small arm). Negative when a random mix would have been cheaper.
 */
export function savedShare(
  reward: number,
  largeShare: number,
  rewardSmall: number,
  rewardLarge: number,
): number | null {
  const mix = (reward - rewardSmall) / (rewardLarge - rewardSmall);
  return Number.isFinite(mix) && mix > 0 ? 1 - largeShare / mix : null;
}
