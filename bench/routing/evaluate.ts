// One split of the log: everything is fitted on the training part alone and scored on the test
// part. Folds are drawn by prompt, so that a prompt that occurs twice is never in both.
import { createHash } from "node:crypto";
import { splitmix64, type Random } from "../../algorithms/numeric/random.ts";
import { shuffled } from "../support/samples.ts";
import { rankingOf, type Ranking } from "./curve.ts";
import type { LoggedRequest } from "./data.ts";
import { createLearner, type LearnerOptions } from "./learner.ts";
import { fitLogistic } from "./logistic.ts";

export const methods = ["random", "word_count", "logistic", "full", "online", "warm", "oracle"] as const;
export type Method = (typeof methods)[number];

export interface World {
  rows: readonly LoggedRequest[];
  /** What the router sees of each arm, per request: small, large. */
  contexts: readonly number[][][];
  learner: LearnerOptions;
}

/** A request that a policy decided, and what it lost beside the better arm. */
export interface Loss {
  index: number;
  loss: number;
}

export interface Split {
  rankings: Record<Method, Ranking>;
  /**
   * online: the whole pass over the training part; online_first_half: what it cost until warm would
   * begin.
   */
  losses: Record<"full" | "online" | "online_first_half" | "warm", Loss[]>;
}

/** Fold of a prompt, always the same for a seed. */
export function foldOf(prompt: string, seed: number, folds: number): number {
  return createHash("sha256").update(`${seed}\n${prompt}`).digest().readUInt32BE(0) % folds;
}

export function evaluateSplit(world: World, train: readonly number[], test: readonly number[], seed: number): Split {
  const { rows, contexts, learner: options } = world;
  const random = splitmix64(seed);
  const order = shuffled(train, seed);
  const half = order.slice(0, order.length >> 1);

  const full = createLearner({ ...options, every: Infinity });
  for (const index of train)
    for (const arm of [0, 1]) full.reward(arm, contexts[index]![arm]!, qualityOf(world, index, arm));
  const online = createLearner(options);
  const pass = serve(world, online, order, random);
  const warm = createLearner(options);
  for (const index of half) {
    // The log of a deployment that chose by chance: one answer a request.
    const arm = random() < 0.5 ? 0 : 1;
    warm.reward(arm, contexts[index]![arm]!, qualityOf(world, index, arm));
  }
  // The first policy is fitted offline from the whole log.
  warm.expected(contexts[order[0]!]!);
  const continued = serve(world, warm, order.slice(half.length), random);

  const flat = (index: number): number[] => contexts[index]![1]!;
  // What a router has to know: is the large model right where the small one is not?
  const logistic = fitLogistic(
    train.map(flat),
    train.map((index) => (gainOf(rows[index]!) > 0 ? 1 : 0)),
  );
  const difference = (index: number, learner: typeof full): number => {
    const [small, large] = learner.expected(contexts[index]!);
    return large! - small!;
  };
  const scores: Record<Method, (index: number) => number> = {
    random: () => random(),
    word_count: (index) => rows[index]!.request.split(/\s+/).filter((word) => word !== "").length,
    logistic: (index) => logistic(flat(index)),
    full: (index) => difference(index, full),
    online: (index) => difference(index, online),
    warm: (index) => difference(index, warm),
    oracle: (index) => gainOf(rows[index]!),
  };
  const chosenByFull = test.map((index) => {
    const values = full
      .expected(contexts[index]!)
      .map((mean, arm) => mean - options.costWeight * options.arms[arm]!.cost);
    return { index, loss: lossOf(world, index, values[1]! > values[0]! ? 1 : 0) };
  });
  return {
    rankings: Object.fromEntries(
      methods.map((method) => [method, rankingOf(test, test.map(scores[method]))]),
    ) as Record<Method, Ranking>,
    losses: { full: chosenByFull, online: pass, online_first_half: pass.slice(0, half.length), warm: continued },
  };
}

/** One pass, each request once: draw an arm, learn from its answer alone. */
function serve(
  world: World,
  learner: ReturnType<typeof createLearner>,
  order: readonly number[],
  random: Random,
): Loss[] {
  return order.map((index) => {
    const seen = world.contexts[index]!;
    const { arm } = learner.choose(seen, random);
    learner.reward(arm, seen[arm]!, qualityOf(world, index, arm));
    return { index, loss: lossOf(world, index, arm) };
  });
}

const qualityOf = ({ rows }: World, index: number, arm: number): number =>
  arm === 0 ? rows[index]!.small : rows[index]!.large;
export const gainOf = ({ small, large }: LoggedRequest): number => large - small;

/** Worth of the better arm less that of `arm`, worth being quality less the price of its cost. */
export function lossOf({ rows, learner }: Pick<World, "rows" | "learner">, index: number, arm: number): number {
  const { small, large } = rows[index]!;
  const worth = [small, large].map((quality, i) => quality - learner.costWeight * learner.arms[i]!.cost);
  return Math.max(...worth) - worth[arm]!;
}
