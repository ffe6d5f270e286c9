// The system's own router over the kept answers: policy, features and learner are those that serve,
// with shipped defaults; it begins with nothing known and meets the requests in the stream's order.
import { FEATURE_NAMES } from "../../algorithms/routing/features.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { routing as routingSection } from "../../config/sections/learning.ts";
import { createLearner } from "../routing/learner.ts";
import { mean } from "../support/statistics.ts";
import type { Choices, Round } from "./policies.ts";

const prior = routingSection.parse({});
const { indifference } = prior;

export interface Replaying {
  weight: number;
  /** Passes over the stream, each with draws of its own. */
  draws: number;
  /** Share of the answers that are rated. */
  rated: number;
}

/** Mean CPU seconds of each routed arm over those of the most expensive one. */
function costsOf(rounds: readonly Round[]): number[] {
  const costs = (rounds[0]?.contexts ?? []).map((_, arm) => mean(rounds.map(({ cpu }) => cpu[arm]!)));
  const most = Math.max(...costs);
  return costs.map((cost) => cost / most);
}

/** The contexts as plan would make them of arms of the measured costs. */
export function withMeasuredCosts(rounds: readonly Round[]): Round[] {
  const at = FEATURE_NAMES.indexOf("armCost");
  const costs = costsOf(rounds);
  return rounds.map((round) => ({
    ...round,
    contexts: round.contexts.map((context, arm) => context.map((value, i) => (i === at ? costs[arm]! : value))),
  }));
}

/** How often each arm is chosen for each request, in many passes. */
export function replayRouter(rounds: readonly Round[], { weight, draws, rated }: Replaying): Choices {
  const arms = costsOf(rounds).map((cost, arm) => ({ name: String(arm), cost }));
  const counts = rounds.map(({ quality }) => quality.map(() => 0));
  for (let draw = 1; draw <= draws; draw++) {
    const learner = createLearner({ arms, costWeight: weight, prior, indifference, every: 10 });
    const [random, raters] = [splitmix64(1_000 + draw), splitmix64(1_000_000 + draw)];
    for (const [i, { contexts, quality, domain }] of rounds.entries()) {
      const { arm } = learner.choose(contexts, random, domain);
      if (raters() < rated) learner.reward(arm, contexts[arm]!, quality[arm]!, domain);
      counts[i]![arm]! += 1 / draws;
    }
  }
  return counts;
}
