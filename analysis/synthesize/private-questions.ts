// The questions of the examples that members of a shared domain have of their own.
import { isSharedDomain, sharedDomainNamed } from "../../algorithms/selection/shared-domains.ts";
import { sharingDomain } from "../../algorithms/identity/identity.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";

/** Their vectors are held in memory: 1.5 kB each. */
const most = 200_000;

export interface Members {
  domain: string;
  tenants: readonly string[] | "all";
}

/** Rejects where they are more than memory is meant for, and as the ClickHouse port does. */
export async function readPrivateQuestions(
  clickhouse: Pick<ClickHouse, "query">,
  { domain, tenants }: Members,
): Promise<string[]> {
  const shared = sharedDomainNamed(domain);
  const rows = await clickhouse.query<{ request: string; of: string }>(
    `SELECT request, domain AS of FROM examples FINAL
     WHERE NOT deleted AND if(empty({domains:Array(String)}), endsWith(domain, {name:String}), has({domains:Array(String)}, domain))
     ORDER BY example_id LIMIT ${most + 1}`,
    {
      name: shared.slice(shared.indexOf("/")),
      domains: tenants === "all" ? [] : tenants.map((tenant) => sharingDomain(tenant, domain)),
    },
  );
  if (rows.length > most)
    throw new RangeError(`${domain} has more than ${most} examples: share it among fewer tenants`);
  return rows.filter(({ of }) => !isSharedDomain(of)).map(({ request }) => request);
}
