// The system's own router over the kept answers: policy, features and learner are those that serve,
// with shipped defaults; it begins with nothing known and meets the requests in the stream's order.
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { routing as routingSection } from "../../config/sections/learning.ts";
import type { Choices, ReplayArm } from "../ladder/replay.ts";
import { createLearner } from "../routing/learner.ts";
import type { Served } from "./rounds.ts";

const prior = routingSection.parse({});
const { indifference } = prior;
/** Rewards between two versions of the policy. */
export const every = 10;

export interface Replaying {
  arms: readonly ReplayArm[];
  costWeight: number;
  /** Passes over the stream, each with draws of its own. */
  draws: number;
  /** Share of the answers that are rated. */
  rated: number;
}

/** How often each arm is chosen for each request. */
export function replayRouter(rounds: readonly Served[], { arms, costWeight, draws, rated }: Replaying): Choices {
  const counts = rounds.map(({ quality }) => quality.map(() => 0));
  for (let draw = 1; draw <= draws; draw++) {
    const learner = createLearner({ arms, costWeight, prior, indifference, every });
    const [random, raters] = [splitmix64(1_000 + draw), splitmix64(1_000_000 + draw)];
    for (const [i, { contexts, quality, domain }] of rounds.entries()) {
      const { arm } = learner.choose(contexts, random, domain);
      if (raters() < rated) learner.reward(arm, contexts[arm]!, quality[arm]!, domain);
      counts[i]![arm]! += 1 / draws;
    }
  }
  return counts;
}
