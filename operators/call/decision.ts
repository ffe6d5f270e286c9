// The Decision of a request and the Work that follows from it, out of what the steps of plan have
// found. Pure. It is the only place where plan makes them.
import { FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { HELPFULNESS_FEATURE_VERSION } from "../../algorithms/selection/helpfulness-features.ts";
import type { Emit } from "../../runtime/step.ts";
import type { Decision, StepTiming, Work } from "../../schemas/types.ts";
import type { Paired } from "../flow.ts";
import { asRecord } from "../work-record.ts";

export type Found = Pick<
  Paired,
  "request" | "position" | "timestamp" | "domain" | "deadline" | "degraded" | "experiment"
> &
  Pick<Paired, "threshold" | "exploredThreshold" | "helpfulnessVersion" | "choice" | "prompt" | "alternative">;

export interface Decided {
  decision: Decision;
  /** For the chosen arm. */
  work: Work;
  alternative: Emit<"work"> | null;
}

export function decide(found: Found, timings: readonly StepTiming[]): Decided {
  const { request, choice, prompt, alternative } = found;
  const decision: Decision = {
    ...{ requestId: request.id, partition: found.position.partition, offset: found.position.offset },
    ...{ tenant: request.tenant, domain: found.domain, featureVersion: FEATURE_VERSION },
    ...{ ...choice, experiment: found.experiment },
    alternative: alternative !== null,
    ...{ threshold: found.threshold, exploredThreshold: found.exploredThreshold },
    ...{ helpfulnessVersion: found.helpfulnessVersion, helpfulnessFeatures: HELPFULNESS_FEATURE_VERSION },
    ...{ template: prompt.template, source: "routed", cacheKey: prompt.cacheKey },
    ...{ degraded: found.degraded, timings: [...timings] },
  };
  const { pieces, cacheKey, plannedAt } = prompt;
  const work: Work = {
    ...{ request, decision, role: "answer", pieces, fallback: null, cacheKey },
    ...{ notAfter: found.deadline, plannedAt, planMs: plannedAt - found.timestamp },
  };
  if (alternative === null) return { decision, work, alternative: null };
  const second: Work = { ...work, role: "alternative", pieces: alternative.pieces, cacheKey: null };
  return { decision, work, alternative: emitOf(second, alternative.arm) };
}

const emitOf = (work: Work, arm: string): Emit<"work"> => ({
  ...{ output: "work", arm, key: work.decision.requestId, record: asRecord(work) },
});

export const emitsOf = ({ decision, work, alternative }: Decided): Emit<"work" | "decisions">[] => [
  emitOf(work, decision.arm),
  { output: "decisions", key: decision.requestId, record: decision },
  ...(alternative === null ? [] : [alternative]),
];
