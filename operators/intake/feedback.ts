// Takes feedback out of its tenant's own topic and makes it feedback of that tenant. Needs nothing
// before it. Delivery: exactly one copy, or the dead letter of feedback that claims another tenant.
import { shortName } from "../../algorithms/identity/names.ts";
import type { Emitting, SourceContract } from "../../runtime/pipeline.ts";
import { ok, type Received, type Step } from "../../runtime/step.ts";
import type { Feedback } from "../../schemas/types.ts";
import { ownerOf, type IntakeDependencies } from "./owner.ts";

export function createIntakeFeedback(owners: IntakeDependencies): Step<Received<Feedback>, Emitting<"feedback">> {
  return function intake(received) {
    const { record, position } = received;
    const tenant = ownerOf(record.tenant, position, owners);
    if (typeof tenant !== "string") return tenant;
    const key = shortName(record.requestId);
    return ok({ ...received, emits: [{ output: "feedback", key, record: { ...record, tenant } }] });
  };
}

export const intakeFeedbackContract = ({
  tenantOf,
}: IntakeDependencies): SourceContract<"tenant-feedback", "dead-letters"> => ({
  tenantOf: ({ topic }) => tenantOf(topic),
  // Feedback is never too late, and no client waits for an answer to it.
  deadline: () => Infinity,
  id: ({ record }) => shortName(record.id),
  answer: () => [],
});
