// Versions of policies, and the way back: what `precedent policy history, revert, resume` do.
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import type { Policies } from "../../../state/policies/append.ts";
import { policyHistory } from "../../../state/policies/history.ts";
import { isLinkPolicy } from "../../../state/policies/link.ts";
import { isPin } from "../../../state/policies/pin.ts";
import { resumePolicy, revertPolicy } from "../../../state/policies/revert.ts";
import type { Policy } from "../../../schemas/types.ts";
import { PolicyRefused } from "./dashboard.ts";
import type { PolicyVersion } from "./types/policies.ts";

const mostVersions = 100;
const mostPolicies = 200;

const viewOf = ({ name, version, kind, createdAt, trainedThrough, revertOf, metrics }: Policy): PolicyVersion => ({
  ...{ name, version, kind, createdAt, trainedThrough, revertOf, metrics },
  revertible: !isLinkPolicy(name) && !isPin(name),
});

/** The newest of each, or all of one. */
export async function readPolicies(clickhouse: Pick<ClickHouse, "query">, name?: string): Promise<PolicyVersion[]> {
  if (name !== undefined) return (await policyHistory(clickhouse, name, { limit: mostVersions })).map(viewOf);
  const newest = await clickhouse.query<{ name: string; version: number }>(
    `SELECT name, max(version) AS version FROM policies GROUP BY name ORDER BY name LIMIT ${mostPolicies}`,
  );
  const found = await Promise.all(newest.map((one) => policyHistory(clickhouse, one.name, one)));
  return found.flat().map(viewOf);
}

/** What it says is what `precedent policy` says. Rejects with PolicyRefused. */
export async function revert(policies: Policies, name: string, version: number, now: number): Promise<PolicyVersion> {
  const [known] = await policyHistory(policies.clickhouse, name, { version });
  if (known === undefined) throw new PolicyRefused(`there is no version ${version} of ${name}`);
  if (!viewOf(known).revertible) throw new PolicyRefused(`${name} says what is there and has no way back`);
  return viewOf(await revertPolicy(policies, name, version, now));
}

export async function resume(policies: Policies, name: string, now: number): Promise<PolicyVersion> {
  const [newest] = await policyHistory(policies.clickhouse, name, { limit: 1 });
  if (newest === undefined) throw new PolicyRefused(`no version of ${name} is recorded`);
  if (newest.revertOf === null)
    throw new PolicyRefused(`${name} is not paused: version ${newest.version} is no revert`);
  return viewOf(await resumePolicy(policies, name, now));
}
