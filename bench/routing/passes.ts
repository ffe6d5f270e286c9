// The router over a log, by its own code: cold over one pass, warm after a log of the first half,
// and fitted to all labels in folds by prompt. What comes back is which arm answered.
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { shuffled } from "../support/samples.ts";
import type { Contexts } from "./contexts.ts";
import { foldOf } from "./evaluate.ts";
import { createLearner, type Learner, type LearnerOptions } from "./learner.ts";
import { bestOf, type Priced } from "./worth.ts";

export interface Field {
  log: Priced;
  contexts: Contexts;
  learner: Omit<LearnerOptions, "arms" | "costWeight">;
  /** The task is also the request's domain. */
  domains: boolean;
}

/** Which of the answers are rated: a share of them, or those that plan would ask for. */
export type Feedback = number | "asked";

export interface Pass {
  /** Rows in the order in which they were asked, and the arm that answered each. */
  order: number[];
  arms: number[];
  /** How many answers were rated. */
  rated: number;
}

const foldCount = 5;
/** As routing.askShare, of requests whose arms are not nearly even. */
const askShare = 0.01;

const routerOf = ({ log, learner }: Field, costWeight: number, every = learner.every): Learner =>
  createLearner({
    ...learner,
    arms: log.arms.map((name, arm) => ({ name, cost: log.armCosts[arm]! })),
    ...{ costWeight, every },
  });

const seenBy = ({ log, contexts }: Field, row: number): (number[] | null)[] =>
  log.rows[row]!.scores.map((score, arm) => (score === null ? null : contexts.at(row, log.armCosts[arm]!)));

const domainOf = ({ log, domains }: Field, row: number): string => (domains ? (log.rows[row]!.task ?? "") : "");

/** One pass, each request once: draws an arm, learns from its answer alone, where it is rated. */
function serve(field: Field, router: Learner, order: readonly number[], seed: number, feedback: Feedback): Pass {
  const random = splitmix64(seed);
  const raters = splitmix64(seed + 1_000_003);
  let rated = 0;
  const arms = order.map((row) => {
    const seen = seenBy(field, row);
    const domain = domainOf(field, row);
    const { arm, undecided } = router.choose(seen, random, domain);
    const share = feedback === "asked" ? (undecided ? 1 : askShare) : feedback;
    if (raters() < share) {
      rated++;
      router.reward(arm, seen[arm]!, field.log.rows[row]!.scores[arm]!, domain);
    }
    return arm;
  });
  return { order: [...order], arms, rated };
}

export function cold(field: Field, costWeight: number, seed: number, feedback: Feedback = 1): Pass {
  const order = shuffled([...field.log.rows.keys()], seed);
  return serve(field, routerOf(field, costWeight), order, 1_000 + seed, feedback);
}

/** The second half, after one policy from a log of the first half that chose by chance. */
export function warm(field: Field, costWeight: number, seed: number): Pass {
  const order = shuffled([...field.log.rows.keys()], seed);
  const half = order.length >> 1;
  const router = routerOf(field, costWeight);
  const random = splitmix64(5_000 + seed);
  for (const row of order.slice(0, half)) {
    const able = seenBy(field, row).flatMap((context, arm) => (context === null ? [] : [{ context, arm }]));
    const { context, arm } = able[Math.floor(random() * able.length)]!;
    router.reward(arm, context, field.log.rows[row]!.scores[arm]!, domainOf(field, row));
  }
  router.expected(seenBy(field, order[0]!), "");
  return serve(field, router, order.slice(half), 2_000 + seed, 1);
}

export interface Fold {
  train: number[];
  test: number[];
}

/**
 * Drawn by prompt: one that occurs twice is never on both sides. Empty ones are left out. Throws an
 * error for people where nothing is left to test on.
 */
export function foldsOf({ rows }: Priced): Fold[] {
  const folds = rows.map(({ request }) => foldOf(request, 0, foldCount));
  const found = Array.from({ length: foldCount }, (_, fold) => ({
    train: folds.flatMap((own, i) => (own === fold ? [] : [i])),
    test: folds.flatMap((own, i) => (own === fold ? [i] : [])),
  })).filter(({ train, test }) => train.length > 0 && test.length > 0);
  if (found.length > 0) return found;
  const prompts = new Set(rows.map(({ request }) => request)).size;
  throw new Error(`the log has ${prompts} different requests: more are needed to keep some for testing`);
}

/** Expected quality of every arm for each row of the test part, from all labels of the other. */
export function fitted(field: Field, { train, test }: Fold): number[][] {
  const router = routerOf(field, 0, Infinity);
  for (const row of train) {
    const seen = seenBy(field, row);
    for (const [arm, context] of seen.entries())
      if (context !== null) router.reward(arm, context, field.log.rows[row]!.scores[arm]!, domainOf(field, row));
  }
  return test.map((row) => router.expected(seenBy(field, row), domainOf(field, row)));
}

/** The arm that a fitted router takes at a cost weight. */
export const takenBy = (expected: readonly number[], armCosts: readonly number[], costWeight: number): number =>
  bestOf(expected.map((mean, arm) => mean - costWeight * armCosts[arm]!));
