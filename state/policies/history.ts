// The versions of a policy in ClickHouse: the topic keeps only the newest of each.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Policy } from "../../schemas/types.ts";

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
