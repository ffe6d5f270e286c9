// Going back to an older version of a policy, which pauses its learning, and letting learning go
// on: what `precedent policy` does.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Policy } from "../../schemas/types.ts";
import { appendOnce, type Policies } from "./append.ts";
import { policyHistory } from "./history.ts";
import { isLinkPolicy } from "./link.ts";
import { isPin } from "./pin.ts";

/** Publishes `version` (default: the last different one) anew; learning pauses till resumed. */
export async function revertPolicy(
  policies: Policies,
  name: string,
  version: number | undefined,
  now: number,
): Promise<Policy> {
  if (isPin(name)) throw new Error(`${name} is pinned, and stays as it is`);
  if (isLinkPolicy(name))
    throw new Error(`${name} says what auto chose by what it measured: set the arm's linked.policy to have another`);
  const old =
    version === undefined
      ? await former(policies.clickhouse, name)
      : (await policyHistory(policies.clickhouse, name, { version }))[0];
  if (old === undefined)
    throw new Error(
      `there is no ${version === undefined ? "former version" : `version ${version}`} of ${name}: precedent policy history ${name}`,
    );
  return appendOnce(policies, name, (next) => ({ ...old, version: next, revertOf: old.version, createdAt: now }));
}

/** What was in force before the newest; of a revert, before what it repeats. */
async function former(clickhouse: Pick<ClickHouse, "query">, name: string): Promise<Policy | undefined> {
  const [newest, ...older] = await policyHistory(clickhouse, name, { limit: 20 });
  const repeated = newest?.revertOf ?? newest?.version ?? 0;
  return older.find(({ version, body }) => version < repeated && body !== newest?.body);
}

/** Publishes the newest body once more, no longer as a revert: learning goes on from there. */
export async function resumePolicy(policies: Policies, name: string, now: number): Promise<Policy> {
  return appendOnce(policies, name, (next, newest) => {
    if (newest === null) throw new Error(`no version of ${name} is published`);
    if (newest.revertOf === null) throw new Error(`${name} is not paused: version ${newest.version} is no revert`);
    return { ...newest, version: next, revertOf: null, createdAt: now };
  });
}
