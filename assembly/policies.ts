// The history of policies for people: what `precedent policy` shows, reverts to and resumes. The history lies in ClickHouse, for the topic
// keeps only the newest version of each.
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import { PLACEMENT } from "../operators/place/placement.ts";
import { learn } from "../pipelines/learn.ts";
import { createPolicyLog, policyWriterId, type PolicyLog } from "../operators/policy-log.ts";
import type { Policy } from "../schemas/types.ts";
import { isLinkPolicy } from "./link-history.ts";
import type { Session } from "./session.ts";
import { groupName } from "./stage.ts";

/** 0 when the table has none. */
export async function highestPolicyVersion(clickhouse: Pick<ClickHouse, "query">, name: string): Promise<number> {
  const [row] = await clickhouse.query<{ version: number }>(
    "SELECT max(version) AS version FROM policies WHERE name = {name:String}",
    { name },
  );
  return row?.version ?? 0;
}

interface PolicyRow extends Omit<Policy, "featureVersion" | "trainedThrough" | "revertOf" | "createdAt"> {
  feature_version: number;
  trained_through: number | null;
  revert_of: number | null;
  created_at: number;
}

/** Newest first; one version only, where that is asked for. */
export async function policyHistory(
  clickhouse: Pick<ClickHouse, "query">,
  name: string,
  { limit = 20, version = 0 }: { limit?: number; version?: number } = {},
): Promise<Policy[]> {
  const rows = await clickhouse.query<PolicyRow>(
    `SELECT name, tenant, version, kind, body, reference, hash, feature_version, metrics, revert_of,
            toUnixTimestamp64Milli(trained_through) AS trained_through, toUnixTimestamp64Milli(created_at) AS created_at
     FROM policies FINAL WHERE name = {name:String} AND ({version:UInt64} = 0 OR version = {version:UInt64})
     ORDER BY version DESC LIMIT {limit:UInt32}`,
    { name, limit, version },
  );
  return rows.map(({ feature_version, trained_through, revert_of, created_at, ...row }) => ({
    ...row,
    featureVersion: feature_version,
    trainedThrough: trained_through,
    revertOf: revert_of,
    createdAt: created_at,
  }));
}

/** As the writer of a policy beside the learner, who is fenced and comes back by itself. Close it soon. */
export function openPolicyLog({ kafka, codec, clickhouse, config, topic, log }: Session, name: string): PolicyLog {
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

/**
 * Publishes the body of `version`, by default of the one before the newest that says something else, under the next version. With revertOf
 * learning of this policy pauses until resumePolicy.
 */
export async function revertPolicy(
  session: Session,
  name: string,
  version: number | undefined,
  now: number,
): Promise<Policy> {
  if (name === PLACEMENT)
    throw new Error(`${PLACEMENT} says what lies where: an old version would be wrong, not a choice`);
  if (isLinkPolicy(name))
    throw new Error(`${name} says what auto chose by what it measured: set the arm's linked.policy to have another`);
  const old =
    version === undefined
      ? await former(session.clickhouse, name)
      : (await policyHistory(session.clickhouse, name, { version }))[0];
  if (old === undefined)
    throw new Error(
      `there is no ${version === undefined ? "former version" : `version ${version}`} of ${name}: precedent policy history ${name}`,
    );
  return append(session, name, (next) => ({ ...old, version: next, revertOf: old.version, createdAt: now }));
}

/** What was in force before the newest; of a revert, before what it repeats. */
async function former(clickhouse: Pick<ClickHouse, "query">, name: string): Promise<Policy | undefined> {
  const [newest, ...older] = await policyHistory(clickhouse, name, { limit: 20 });
  const repeated = newest?.revertOf ?? newest?.version ?? 0;
  return older.find(({ version, body }) => version < repeated && body !== newest?.body);
}

/** Publishes the newest body once more, no longer as a revert: learning goes on from there. */
export async function resumePolicy(session: Session, name: string, now: number): Promise<Policy> {
  return append(session, name, (next, newest) => {
    if (newest === null) throw new Error(`no version of ${name} is published`);
    if (newest.revertOf === null) throw new Error(`${name} is not paused: version ${newest.version} is no revert`);
    return { ...newest, version: next, revertOf: null, createdAt: now };
  });
}

async function append(
  session: Session,
  name: string,
  make: (version: number, newest: Policy | null) => Policy,
): Promise<Policy> {
  const policies = openPolicyLog(session, name);
  try {
    return await policies.append((version) => make(version, policies.newest()));
  } finally {
    await policies.close();
  }
}
