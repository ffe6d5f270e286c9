// What emitted records say of the request, for its span: ids, codes and counts, no text.
import type { Facts } from "../../connections/tracing/port.ts";
import type { Emit } from "../step.ts";
import type { Decision, Response, Work } from "../../schemas/types.ts";

export interface SpanOutcome {
  facts: Facts;
  error: string | undefined;
}

export function factsOf(emits: readonly Emit[]): SpanOutcome {
  let facts: Facts = {};
  let error: string | undefined;
  for (const emit of emits) {
    if (emit.output === "decisions") facts = { ...facts, ...ofDecision(emit.record) };
    else if (emit.output === "work") facts = { ...ofWork(emit.record), ...facts };
    else if (emit.output === "responses" || emit.output === "alternative-answers") {
      facts = { ...facts, ...ofResponse(emit.record) };
      // A refused request is the client's own fault: its outcome says enough.
      if (emit.record.status === "failed") error = emit.record.error?.code ?? "failed";
    }
  }
  return { facts, error };
}

function ofDecision(decision: Decision): Facts {
  const { requestId, tenant, domain, arm, probability, policyVersion, source, degraded } = decision;
  return {
    ...{ requestId, tenant, domain, arm, policyVersion, degraded },
    propensity: probability,
    ...(source === "cache" ? { cached: true } : {}),
  };
}

function ofWork({ decision, fallback, pieces }: Work): Facts {
  return {
    ...ofDecision(decision),
    outcome: "handed_over",
    arm: fallback?.arm ?? decision.arm,
    ...(fallback === null ? {} : { failedArms: fallback.failed.map(({ arm }) => arm) }),
    examples: new Set(pieces.flatMap(({ kind, id }) => (kind === "example" ? [id] : []))).size,
  };
}

function ofResponse(response: Response): Facts {
  const { requestId, tenant, status, source, duplicate, arm, attempt, cost, error, degraded } = response;
  return {
    ...{ requestId, tenant, source, duplicate, cost, degraded },
    outcome: status,
    code: error?.code,
    cached: source === "cache",
    ...(arm === null ? {} : { arm }),
    examples: response.exampleIds.length,
    attempts: attempt,
    failedArms: response.failedArms.map(({ arm: failed }) => failed),
  };
}
