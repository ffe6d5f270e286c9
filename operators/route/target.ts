// Target policies and their probabilities on logged decisions (docs/off-policy.md, Targets): by the
// code that serves, with the logged biases.
import type { Posterior } from "../../algorithms/routing/bandit.ts";
import { choiceProbabilities, predicted, type Exploring } from "./score.ts";
import { routerPrior, type PriorConfig } from "../../state/policies/prior.ts";
import { beliefsOf, type RouterPolicy } from "../../state/policies/router.ts";

export type Target =
  | { kind: "router"; name: string; policy: RouterPolicy }
  | { kind: "arm"; name: string; arm: string }
  /** What was in force when each decision was made: the value of what happened. */
  | { kind: "logged"; name: string };

/** An arm of a logged decision, as far as a choice rests on it. */
export interface Candidate {
  arm: string;
  model: string;
  context: readonly number[];
  bias: number;
  probability: number;
}

export interface Serving extends Exploring {
  prior: Posterior;
}

export function servingOf(routing: PriorConfig & Exploring): Serving {
  const { indifference = 0, explorationFloor = 0 } = routing;
  return { prior: routerPrior(routing).unknown, indifference, explorationFloor };
}

/** In the candidates' order; null: the arm was not allowed. RangeError if not finite. */
export function targetProbabilities(
  target: Target,
  candidates: readonly Candidate[],
  { prior, ...exploring }: Serving,
  { tenant, domain }: { tenant: string; domain: string },
): readonly number[] | null {
  switch (target.kind) {
    case "logged":
      return candidates.map(({ probability }) => probability);
    case "arm":
      return candidates.some(({ arm }) => arm === target.arm)
        ? candidates.map(({ arm }) => (arm === target.arm ? 1 : 0))
        : null;
    case "router":
      return choiceProbabilities(
        candidates.map(({ arm, model, context, bias }) => ({
          ...predicted(beliefsOf(target.policy, tenant, domain), prior, { name: arm, model }, context),
          bias,
        })),
        exploring,
      );
  }
}
