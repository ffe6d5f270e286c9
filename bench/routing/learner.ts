// The router as the stages run it, in memory: the scores and the draw of plan (operators/route),
// the posterior of learn (operators/solve), and what ClickHouse sums in between. Learn solves anew
// after `every` rewards. Pure: the random source is passed in.
import { emptyStatistics, observe } from "../../algorithms/routing/bandit.ts";
import { type Load, overloadBiases, type OverloadConfig } from "../../algorithms/routing/load-bias.ts";
import type { Random } from "../../algorithms/numeric/random.ts";
import type { RouteArm } from "../../arms/routed.ts";
import { predicted, scoreArms, undecided } from "../../operators/route/score.ts";
import { solve } from "../../operators/solve/solve.ts";
import { firstGuess, routerPrior, type PriorConfig } from "../../state/policies/prior.ts";
import { beliefsOf, type RouterPolicy } from "../../state/policies/router.ts";

export interface LearnerOptions {
  arms: readonly { name: string; cost: number }[];
  costWeight: number;
  prior: PriorConfig;
  /** As routing.indifference. */
  indifference: number;
  /** Rewards between two versions of the policy, and at least a tenth of all. */
  every: number;
  /** What load adds; absent: nothing. */
  overload?: Pick<OverloadConfig, "load" | "saturation">;
}

export interface Chosen {
  /** Index of the arm drawn. */
  arm: number;
  probability: number;
  /** Whether plan would ask for feedback even with askShare 0. */
  undecided: boolean;
}

/**
 * contexts: one per arm, null where an arm can't answer. domain: the request's, if any. load: the
 * arms' now; none by default.
 */
export interface Learner {
  choose(contexts: readonly (readonly number[] | null)[], random: Random, domain?: string, load?: Load): Chosen;
  reward(arm: number, context: readonly number[], reward: number, domain?: string): void;
  /** Expected quality of each arm from all rewards so far; NaN: it can't answer. */
  expected(contexts: readonly (readonly number[] | null)[], domain?: string): number[];
}

/** Same settings as pipelines/learn/router.ts. */
const mostDomains = 16;
/** Share of the rewards from which a new version is made. */
const notable = 0.1;
const idle: Load = { costlier: 0, byArm: new Map() };
const none = { load: { threshold: 1, weight: 0 }, saturation: { threshold: 1, weight: 0 } };

export function createLearner(options: LearnerOptions): Learner {
  const { arms, costWeight, prior: settings, indifference, every, overload = none } = options;
  const biases = overloadBiases(
    arms.map(({ cost }) => cost),
    { costWeight, ...overload },
  );
  const routeArms = arms.map(({ name, cost }): RouteArm => ({
    ...{ name, model: name, cost, examples: false, template: "chat-turns", maxTokens: 1_024 },
    prices: { prompt: 0, completion: 0 },
  }));
  const { each, hierarchy, unknown: prior } = routerPrior(settings);
  const dimension = prior.mean.length;
  const solving = { ...firstGuess, ...settings, dimension, noiseVariance: each.noise, ...(hierarchy && { hierarchy }) };
  const known = arms.map(() => new Map<string, ReturnType<typeof nothing>>());
  const nothing = () => ({
    ...emptyStatistics(dimension),
    x: new Float64Array(dimension),
    rewardSum: 0,
    squares: 0,
    count: 0,
  });
  let policy: RouterPolicy = { version: 0, featureVersion: 0, trainedThrough: null, arms: new Map() };
  let rewards = 0;
  let unseen = 0;

  const publish = (): void => {
    const of = (i: number) => ({ arm: arms[i]!.name, model: arms[i]!.name });
    const statistics = known.flatMap((own, i) =>
      own.size === 0 ? [] : [{ ...of(i), ...together([...own.values()]) }],
    );
    const recent = mostRewarded(known);
    const domains = known.flatMap((own, i) =>
      [...own].flatMap(([domain, { x, count, rewardSum }]) =>
        recent.has(domain) ? [{ ...of(i), domain, x: [...x], weight: count, rewardSum }] : [],
      ),
    );
    const solved = solve(statistics, solving, { pairs: [], halfLifeHours: 1, domains: hierarchy ? domains : [] });
    if (solved.problems.length > 0) throw new Error(`learn could not solve: ${solved.problems.join("; ")}`);
    policy = {
      ...policy,
      version: policy.version + 1,
      arms: solved.arms,
      ...(solved.prior && { prior: solved.prior }),
      ...(solved.domains && { domains: solved.domains }),
    };
    unseen = 0;
  };

  return {
    choose(contexts, random, domain = "", load = idle) {
      const able = routeArms.flatMap((_, i) => (contexts[i] === null ? [] : [i]));
      const contenders = able.map((i) => ({
        arm: routeArms[i]!,
        context: [...contexts[i]!],
        examples: [],
        trial: null,
      }));
      const { chosen, scores, loadFree } = scoreArms(
        contenders,
        beliefsOf(policy, "", domain),
        prior,
        { costWeight, indifference, load, ...biases },
        random,
      );
      return { arm: able[chosen]!, probability: scores[chosen]!.probability, undecided: undecided(loadFree) };
    },
    reward(arm, context, reward, domain = "") {
      const own = known[arm]!;
      const statistics = own.get(domain) ?? nothing();
      own.set(domain, statistics);
      observe(statistics, context, reward);
      for (let k = 0; k < dimension; k++) statistics.x[k]! += context[k]!;
      statistics.rewardSum += reward;
      statistics.squares += reward * reward;
      statistics.count++;
      unseen++;
      rewards++;
      if (unseen >= Math.max(every, rewards * notable)) publish();
    },
    expected(contexts, domain = "") {
      if (unseen > 0) publish();
      const beliefs = beliefsOf(policy, "", domain);
      return routeArms.map((arm, i) =>
        contexts[i] === null ? Number.NaN : predicted(beliefs, prior, arm, contexts[i]!).mean,
      );
    },
  };
}

interface Sums {
  a: Float64Array;
  b: Float64Array;
  rewardSum: number;
  squares: number;
  count: number;
}

/** Sums over all domains, as learn reads them from ClickHouse. */
function together(all: readonly Sums[]) {
  const total = (of: (one: Sums) => number): number => all.reduce((sum, one) => sum + of(one), 0);
  const added = (of: (one: Sums) => Float64Array): number[] =>
    Array.from(of(all[0]!), (_, k) => total((one) => of(one)[k]!));
  const count = total((one) => one.count);
  return {
    ...{ a: added(({ a }) => a), b: added(({ b }) => b), weight: count, count, lastHour: 0, newestAt: 0 },
    ...{ rewardSum: total(({ rewardSum }) => rewardSum), squares: total(({ squares }) => squares) },
  };
}

/** As in learn, only this many domains, those with the most rewards, get their own effects. */
function mostRewarded(known: readonly ReadonlyMap<string, Sums>[]): Set<string> {
  const counts = new Map<string, number>();
  for (const own of known) for (const [domain, { count }] of own) counts.set(domain, (counts.get(domain) ?? 0) + count);
  return new Set(
    [...counts]
      .sort(([, one], [, other]) => other - one)
      .slice(0, mostDomains)
      .map(([domain]) => domain),
  );
}
