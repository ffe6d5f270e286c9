// Adds the prompt for an alternative answer where feedback is asked for, the request allows it, the
// arm is healthy and idle, and the budget has room. Needs compose before it. Committed with the
// decision, so at most one; always by the arm's work topic.
import { createShareBudget, type ShareBudgetOptions } from "../../algorithms/queueing/share-budget.ts";
import { ok, type Step } from "../../runtime/step.ts";
import type { Choice, Composed, Paired } from "../flow.ts";
import { recompose, type ComposingArm } from "../recompose.ts";

type Needs = Pick<Composed, "request" | "choice" | "examplesByArm" | "prompt">;
type Adds = Pick<Paired, "alternative">;

export interface PairDependencies {
  arms: () => readonly ComposingArm[];
  routing: {
    /** Utilisation of the more expensive arms from which no alternative answers are made. */
    load: { threshold: number };
    alternativeAnswers: Pick<ShareBudgetOptions, "share"> & { perTenantHour: number };
  };
  clock: () => number;
}

export function createPair({ arms, routing, clock }: PairDependencies): Step<Needs, Adds> {
  const { share, perTenantHour } = routing.alternativeAnswers;
  const budget = createShareBudget({ share, perHour: perTenantHour });

  return function pair(composed) {
    const { request, choice, prompt, examplesByArm } = composed;
    budget.count(request.tenant, clock());
    const arm = arms().find(({ name }) => name === choice.alternativeArm);
    const isWanted = request.mayCompare && choice.asked && arm !== undefined;
    if (!isWanted || !hasRoom(choice, arm.name, routing.load.threshold)) return ok({ ...composed, alternative: null });
    if (!budget.take(request.tenant, clock())) return ok({ ...composed, alternative: null });
    const pieces = recompose({ request, decision: choice, pieces: prompt.pieces }, arm, examplesByArm);
    return ok({ ...composed, alternative: { arm: arm.name, pieces } });
  };
}

/** In overload no request waits longer for the sake of a comparison. */
const hasRoom = ({ load, arms, breakers }: Choice, alternative: string, threshold: number): boolean =>
  load <= threshold &&
  breakers[alternative] === undefined &&
  arms.some(({ arm, saturation }) => arm === alternative && saturation === 0);
