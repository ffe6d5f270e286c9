// Which domains are asked on which partitions, from ClickHouse's decisions, read forward with an
// overlap. Rejects as the ClickHouse port does.
import type { SharedDomains } from "../../algorithms/selection/shared-domains.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";

export interface Pair {
  domain: string;
  partition: number;
}

export interface SeenDependencies {
  clickhouse: Pick<ClickHouse, "query">;
  decisions: string;
  /** How far the first look goes back, and others before the newest decision; ms. */
  lookBackMs: number;
  overlapMs: number;
  clock: () => number;
  sharing: Pick<SharedDomains, "sharedDomainOf">;
}

/** Limit of pairs of one look; the most recent are kept. */
const mostPairs = 20_000;

const selectPairs = `
  SELECT domain, requests_partition % {partitions:UInt32} AS partition, toUnixTimestamp64Milli(max(created_at)) AS newest
  FROM decisions
  WHERE topic = {decisions:String} AND created_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
  GROUP BY domain, partition ORDER BY newest DESC LIMIT ${mostPairs}`;

export function createSeen({ clickhouse, decisions, lookBackMs, overlapMs, clock, sharing }: SeenDependencies) {
  let newest: number | undefined;
  return async function seen(partitions: number): Promise<Pair[]> {
    const since = newest === undefined ? clock() - lookBackMs : newest - overlapMs;
    const rows = await clickhouse.query<Pair & { newest: number }>(selectPairs, { partitions, decisions, since });
    newest = rows.reduce((latest, row) => Math.max(latest, row.newest), newest ?? 0) || newest;
    return rows.flatMap(({ domain, partition }) => {
      const position = sharing.sharedDomainOf(domain);
      return [{ domain, partition }, ...(position === null ? [] : [{ domain: position, partition }])];
    });
  };
}
