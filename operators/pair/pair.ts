// Adds the work for an alternative answer, by the arm that route drew beside the chosen one, so
// that the client can say which of the two is better (topic alternative-answers). Only where
// feedback is asked for because the arms are nearly even, the request allows it, the alternative
// arm is well and not busy, and the tenant's budget has room. Needs compose before it. Delivery:
// that work is committed with the decision and the work for the answer, so there is at most one of
// it. It always goes by the arm's work topic, of an inline arm too
// (pipelines/generate/generators.ts).
import { createShareBudget, type ShareBudgetOptions } from "../../algorithms/queueing/share-budget.ts";
import { ok, type Step } from "../../runtime/step.ts";
import type { Decision, Work } from "../../schemas/types.ts";
import type { Composed, Routed } from "../flow.ts";
import { recompose, type ComposingArm } from "../recompose.ts";
import { asRecord } from "../work-record.ts";

/** What it reads of a request, and what it changes. */
type Needs = Composed & Pick<Routed, "decision" | "examplesByArm" | "request">;
type Adds = Composed & Pick<Routed, "decision">;

export interface PairDependencies {
  /** Those in force. */
  arms: () => readonly ComposingArm[];
  routing: {
    /** Utilisation of the more expensive arms from which no alternative answers are made. */
    load: { threshold: number };
    alternativeAnswers: Pick<ShareBudgetOptions, "share"> & { perTenantHour: number };
  };
  /** Milliseconds since the epoch. */
  clock: () => number;
}

export function createPair({ arms, routing, clock }: PairDependencies): Step<Needs, Adds> {
  const { share, perTenantHour } = routing.alternativeAnswers;
  const budget = createShareBudget({ share, perHour: perTenantHour });

  return function pair(composed) {
    const { request, examplesByArm } = composed;
    budget.count(request.tenant, clock());
    const { alternativeArm } = composed.decision;
    const arm = arms().find(({ name }) => name === alternativeArm);
    const isWanted = request.mayCompare && composed.decision.asked && arm !== undefined;
    if (!isWanted || !hasRoom(composed.decision, arm.name, routing.load.threshold)) return ok(composed);
    if (!budget.take(request.tenant, clock())) return ok(composed);

    const decision: Decision = { ...composed.decision, alternative: true };
    const work: Work = { ...composed.work, decision };
    const other: Work = { ...work, role: "alternative", pieces: recompose(work, arm, examplesByArm), cacheKey: null };
    const emits: Composed["emits"] = [
      { output: "work", arm: decision.arm, key: request.id, record: asRecord(work) },
      { output: "decisions", key: request.id, record: decision },
      { output: "work", arm: arm.name, key: request.id, record: asRecord(other) },
    ];
    return ok({ ...composed, decision, work, emits });
  };
}

/** In overload nobody waits longer for the sake of a comparison. */
const hasRoom = ({ load, arms, breakers }: Decision, other: string, threshold: number): boolean =>
  load <= threshold &&
  breakers[other] === undefined &&
  arms.some(({ arm, saturation }) => arm === other && saturation === 0);
