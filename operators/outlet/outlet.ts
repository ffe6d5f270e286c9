// Copies a tenant's answers to its own topic, same partition; others' stay. Exactly one copy.
import type { Emitting, SourceContract } from "../../runtime/pipeline.ts";
import { ok, type Received, type Step } from "../../runtime/step.ts";
import type { Response } from "../../schemas/types.ts";

type Copies = "tenant-responses" | "tenant-alternative-answers";

export interface OutletDependencies {
  hasTopics: (tenant: string) => boolean;
}

export const createOutlet =
  <O extends Copies>(output: O) =>
  ({ hasTopics }: OutletDependencies): Step<Received<Response>, Emitting<O>> =>
    function outlet(received) {
      const { record, position } = received;
      const { tenant, requestId: key } = record;
      const copy = { output, key, record, tenant, partition: position.partition } as Emitting<O>["emits"][number];
      return ok({ ...received, emits: hasTopics(tenant) ? [copy] : [] });
    };

/** A copy is never too late, and no client waits for an answer to it. */
export const outletContract = (): SourceContract<"responses" | "alternative-answers", "dead-letters"> => ({
  deadline: () => Infinity,
  id: ({ record }) => record.requestId,
  answer: () => [],
});
