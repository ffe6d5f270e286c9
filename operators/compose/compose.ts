// Writes the prompt of the chosen arm and what plan publishes: the Work for that arm's topic and the Decision, both keyed by the request id.
// The last step of plan; needs route before it; asks nobody.
import { ok, type Emit, type Step } from "../../runtime/step.ts";
import type { Decision, Work } from "../../schemas/types.ts";
import type { Routed } from "../flow.ts";
import { templates, type TemplateName } from "./templates.ts";

/** After compose: what the pipeline publishes. */
export interface Composed extends Routed {
  emits: Emit[];
}

export interface ComposeDependencies {
  /** The arms as configured now. */
  arms: () => readonly { name: string; examples: boolean; template: TemplateName; system?: string | undefined }[];
  /** Milliseconds since the epoch. */
  clock: () => number;
}

export function createCompose({ arms, clock }: ComposeDependencies): Step<Routed, Composed> {
  return function compose(routed, { timings }) {
    const { request, cacheKey, deadline } = routed;
    const arm = arms().find(({ name }) => name === routed.decision.arm);
    const examples = arm?.examples === false ? [] : (routed.examplesByArm.get(routed.decision.arm) ?? []);
    // Documents named by a request are not in the prompt until there is a table of them; the decision must not hide that.
    const missing = request.documents.length > 0 ? ["documents"] : [];
    const template = templates[arm?.template ?? "chat-turns"];
    const decision: Decision = {
      ...routed.decision,
      template: template.id,
      degraded: [...routed.decision.degraded, ...missing],
      timings: [...timings],
    };
    const now = clock();
    const work: Work = {
      request,
      decision,
      pieces: template.pieces({ messages: request.messages, system: arm?.system, examples }),
      cacheKey,
      notAfter: deadline,
      plannedAt: now,
      planMs: now - request.createdAt,
    };
    const emits: Emit[] = [
      { output: "work", arm: decision.arm, key: request.id, record: work },
      { output: "decisions", key: request.id, record: decision },
    ];
    return ok({ ...routed, decision, emits });
  };
}
