// What intake needs: which tenant's each topic is. Requests and feedback are groups of their own.
import { intakeFeedback, intakeRequests } from "./pipeline.ts";
import type { TenantTopic } from "../../schemas/records.ts";
import { followPartitionCount } from "../../state/partition-count.ts";
import type { SessionOf } from "../../state/session.ts";
import type { RunningStage } from "../../runtime/running-stage.ts";
import { startStage } from "../stage.ts";

type Naming = Pick<SessionOf<object>, "tenants" | "topic">;

/** The tenant of a topic by its full name; where tenants change, the stage begins anew. */
function tenantsByTopic({ tenants, topic }: Naming, name: TenantTopic): (full: string) => string | undefined {
  const byTopic = new Map<string, string>(tenants.names().map((tenant) => [topic(name, tenant), tenant]));
  return (full) => byTopic.get(full);
}

export async function startIntakeRequests(
  session: SessionOf<typeof intakeRequests>,
  instance: string,
): Promise<RunningStage> {
  const log = session.log.child({ stage: intakeRequests.name });
  const replies = await followPartitionCount(session.kafka, { topic: session.topic("responses"), log });
  const pipeline = intakeRequests.bind({
    tenantOf: tenantsByTopic(session, "tenant-requests"),
    ...{ limits: session.config.limits, partitions: replies.now, clock: Date.now },
  });
  const stage = await startStage(session, { pipeline, instance });
  return {
    ...stage,
    async stop() {
      replies.stop();
      await stage.stop();
    },
  };
}

export async function startIntakeFeedback(
  session: SessionOf<typeof intakeFeedback>,
  instance: string,
): Promise<RunningStage> {
  const pipeline = intakeFeedback.bind({ tenantOf: tenantsByTopic(session, "tenant-feedback") });
  return startStage(session, { pipeline, instance });
}
