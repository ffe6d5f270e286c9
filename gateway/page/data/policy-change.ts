// How a version of the router differs from the recorded one before it, and the rewards of the
// answers that each version chose.
import { weightChanges, type WeightChange } from "../../../algorithms/routing/weight-changes.ts";
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import { policyHistory } from "../../../state/policies/history.ts";
import { decodeRouterPolicy, ROUTER, type RouterPolicy } from "../../../state/policies/router.ts";
import type { Policy } from "../../../schemas/types.ts";
import type { Quality } from "./types/overview.ts";
import { readVersions } from "./quality.ts";

export interface PolicyChange {
  version: number;
  /** null: no version before it is recorded. */
  before: number | null;
  changes: WeightChange[];
  /** Arms that only this version knows, and that only the one before knew. */
  added: string[];
  removed: string[];
  /** Why nothing can be compared; empty: it was. */
  problem: string;
}

const mostChanges = 12;
const mostVersions = 100;

/** null: no such version of the router is recorded. */
export async function readChange(clickhouse: Pick<ClickHouse, "query">, version: number): Promise<PolicyChange | null> {
  const [now] = await policyHistory(clickhouse, ROUTER, { version });
  if (now === undefined) return null;
  const [known] = await clickhouse.query<{ newest: number }>(
    "SELECT max(version) AS newest FROM policies WHERE name = {name:String} AND version < {version:UInt64}",
    { name: ROUTER, version },
  );
  const before = known?.newest ?? 0;
  const [old] = before === 0 ? [] : await policyHistory(clickhouse, ROUTER, { version: before });
  return compared(now, old);
}

/** Policies of the router. */
function compared(now: Policy, old: Policy | undefined): PolicyChange {
  const none = { version: now.version, before: old?.version ?? null, changes: [], added: [], removed: [] };
  if (old === undefined) return { ...none, problem: "no version before it is recorded" };
  const [one, other] = [decodeRouterPolicy(old), decodeRouterPolicy(now)];
  for (const decoded of [one, other]) if ("problem" in decoded) return { ...none, problem: decoded.problem };
  const [was, is] = [one as RouterPolicy, other as RouterPolicy];
  if (was.tenants !== undefined || is.tenants !== undefined)
    return { ...none, problem: "each tenant has weights of its own: precedent policy show lists them" };
  return {
    ...none,
    changes: weightChanges(was.arms, is.arms, mostChanges),
    added: [...is.arms.keys()].filter((arm) => !was.arms.has(arm)),
    removed: [...was.arms.keys()].filter((arm) => !is.arms.has(arm)),
    problem: "",
  };
}

/** Quality of the answers of the router's newest versions, oldest version first. */
export async function readPolicyRewards(
  clickhouse: Pick<ClickHouse, "query">,
): Promise<{ version: number; createdAt: number; quality: Quality }[]> {
  const versions = await clickhouse.query<{ version: number; createdAt: number }>(
    `SELECT version, toUnixTimestamp64Milli(max(created_at)) AS createdAt FROM policies WHERE name = {name:String}
     GROUP BY version ORDER BY version DESC LIMIT ${mostVersions}`,
    { name: ROUTER },
  );
  const found = await readVersions(
    clickhouse,
    versions.map(({ version }) => version),
  );
  return versions.toReversed().flatMap((one) => {
    const quality = found.get(one.version);
    return quality === undefined ? [] : [{ ...one, quality }];
  });
}
