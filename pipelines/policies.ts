// The writer of a policy beside the learner, for people (precedent policy, helpfulness).
import { learn } from "./learn/pipeline.ts";
import { highestPolicyVersion } from "../state/policies/history.ts";
import { createPolicyLog, policyWriterId, type PolicyLog } from "../state/policies/log.ts";
import type { Policies } from "../state/policies/append.ts";
import type { SessionOf } from "../state/session.ts";
import { groupName } from "../runtime/running-stage.ts";

type PolicySession = SessionOf<{ tables: ["policies", "ClickHouse"]; outputs: ["policies"] }>;

/** As another writer than the learner, who comes back by itself. Close it soon. */
export function openPolicyLog(
  { kafka, codec, clickhouse, config, topic, log }: PolicySession,
  name: string,
): PolicyLog {
  const { prefix } = config.kafka;
  // The learner has the same id, and commits offsets of its group.
  const reach = { groups: [groupName(prefix, learn.name)], topics: [topic("policies")] };
  const producer = kafka.transactionalProducer(policyWriterId(prefix), () => reach);
  const policies = createPolicyLog({
    producer: {
      initialise: producer.initialise,
      publish: (messages) =>
        producer.transact({ group: "", member: { id: "", generation: -1 }, offsets: [], messages }),
    },
    kafka,
    codec,
    topic: topic("policies"),
    name,
    highestRecorded: () => highestPolicyVersion(clickhouse, name),
    log,
  });
  return {
    ...policies,
    async close() {
      await policies.close();
      await producer.close();
    },
  };
}

export const policiesOf = (session: PolicySession): Policies => ({
  clickhouse: session.clickhouse,
  open: (name) => openPolicyLog(session, name),
});
