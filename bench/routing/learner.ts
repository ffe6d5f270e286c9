// The router as the stages run it, in memory: the scores and the draw of plan (operators/route),
// the posterior of learn (operators/solve), and what ClickHouse sums in between. Learn solves anew
// after `every` rewards. Pure: the random source is passed in.
import { emptyStatistics, observe, predict } from "../../algorithms/routing/bandit.ts";
import type { Random } from "../../algorithms/numeric/random.ts";
import type { RouteArm } from "../../arms/routed.ts";
import { scoreArms } from "../../operators/route/score.ts";
import { solve } from "../../operators/solve/solve.ts";
import { firstGuess, routerPrior, type PriorConfig } from "../../state/policies/prior.ts";
import type { RouterPolicy } from "../../state/policies/router.ts";

export interface LearnerOptions {
  arms: readonly { name: string; cost: number }[];
  costWeight: number;
  prior: PriorConfig;
  /** As routing.indifference. */
  indifference: number;
  /** Rewards between two versions of the policy, and at least a tenth of all. */
  every: number;
}

export interface Learner {
  /** Index of the arm drawn for the contexts of all arms, and the probability of it. */
  choose(contexts: readonly number[][], random: Random): { arm: number; probability: number };
  reward(arm: number, context: readonly number[], reward: number): void;
  /** Expected quality of each arm, by all that was rewarded. */
  expected(contexts: readonly number[][]): number[];
}

/** Share of the rewards from which a new version is made. */
const notable = 0.1;
const unloaded = {
  load: { costlier: 0, byArm: new Map<string, number>() },
  loadBias: { threshold: 1, gamma: 1, lambda0: 0 },
  saturationBias: { threshold: 1, gamma: 1, weight: 0 },
};

export function createLearner({ arms, costWeight, prior: settings, indifference, every }: LearnerOptions): Learner {
  const routeArms = arms.map(({ name, cost }): RouteArm => ({
    ...{ name, model: name, cost, examples: false, template: "chat-turns", maxTokens: 1_024 },
    prices: { prompt: 0, completion: 0 },
  }));
  const { each, hierarchy, unknown: prior } = routerPrior(settings);
  const dimension = prior.mean.length;
  const solving = { ...firstGuess, ...settings, dimension, noiseVariance: each.noise, ...(hierarchy && { hierarchy }) };
  const known = arms.map(() => ({ ...emptyStatistics(dimension), rewardSum: 0, squares: 0, count: 0 }));
  let policy: RouterPolicy = { version: 0, featureVersion: 0, trainedThrough: null, arms: new Map() };
  let unseen = 0;

  const publish = (): void => {
    const statistics = known.flatMap(({ a, b, rewardSum, squares, count }, i) =>
      count === 0
        ? []
        : [
            {
              arm: arms[i]!.name,
              model: arms[i]!.name,
              a: [...a],
              b: [...b],
              weight: count,
              rewardSum,
              squares,
              count,
            },
          ],
    );
    const solved = solve(
      statistics.map((one) => ({ ...one, lastHour: 0, newestAt: 0 })),
      solving,
    );
    if (solved.problems.length > 0) throw new Error(`learn could not solve: ${solved.problems.join("; ")}`);
    policy = {
      ...policy,
      version: policy.version + 1,
      arms: solved.arms,
      ...(solved.prior && { prior: solved.prior }),
    };
    unseen = 0;
  };

  return {
    choose(contexts, random) {
      const contenders = routeArms.map((arm, i) => ({ arm, context: contexts[i]!, examples: [], trial: null }));
      const { chosen, scores } = scoreArms(
        contenders,
        policy,
        prior,
        { costWeight, indifference, ...unloaded },
        random,
      );
      return { arm: chosen, probability: scores[chosen]!.probability };
    },
    reward(arm, context, reward) {
      const statistics = known[arm]!;
      observe(statistics, context, reward);
      statistics.rewardSum += reward;
      statistics.squares += reward * reward;
      statistics.count++;
      unseen++;
      const all = known.reduce((sum, one) => sum + one.count, 0);
      if (unseen >= Math.max(every, all * notable)) publish();
    },
    expected(contexts) {
      if (unseen > 0) publish();
      return arms.map(({ name }, i) => predict(policy.arms.get(name) ?? policy.prior ?? prior, contexts[i]!).mean);
    },
  };
}
