// Takes back cached answers with a reward below the limit, by tombstones. Idempotent: found by
// versions of rewards, the position moves last; the look-back finds rewards that came before their
// decision.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { slicesOf } from "../../algorithms/lists/lists.ts";

export interface RetractDependencies {
  clickhouse: Pick<ClickHouse, "query" | "insert">;
  /** Tombstones of the topic `response-cache`, by key. */
  publish: (keys: readonly string[]) => Promise<void>;
  longestTtlMs: number;
  clock: () => number;
}

export interface Retracted {
  retracted: number;
}

interface Row {
  key: string;
  version: string;
}

/** Microseconds, as the versions of rewards: decisions may be recorded so much later. */
const lookBack = 60_000_000;
/** An answer whose reduced reward is below is not given again. */
const minimumReward = 0.5;
const batch = 1_000;

// learn_positions holds the version as an offset of a table that no topic fills.
const position = { reader: "retract", topic: "rewards", kafka_partition: 0 };

const SINCE = `
  SELECT toString(max(next_offset)) AS since FROM learn_positions FINAL
  WHERE reader = {reader:String} AND topic = {topic:String}`;

const NEWEST = "SELECT toString(max(version)) AS newest FROM rewards WHERE version > {since:UInt64}";

const BAD = `
  SELECT concat(decision.domain, '/', decision.cache_key) AS key, toString(max(bad.version)) AS version
  FROM (
    SELECT request_id, tenant, domain, cache_key FROM decisions FINAL
    WHERE cache_key != '' AND (request_id, tenant) IN (SELECT request_id, tenant FROM rewards WHERE version > {since:UInt64})
  ) AS decision
  INNER JOIN (
    SELECT request_id, tenant, version FROM rewards FINAL
    WHERE version > {since:UInt64} AND weight > 0 AND NOT of_session AND reward < {limit:Float64}
  ) AS bad ON bad.request_id = decision.request_id AND bad.tenant = decision.tenant
  GROUP BY key
  SETTINGS distributed_product_mode = 'local'`;

export function createRetract({ clickhouse, publish, longestTtlMs, clock }: RetractDependencies) {
  /** Keys with the version for which they were taken back, of the look-back. */
  const done = new Map<string, number>();

  return async function retract(): Promise<Retracted> {
    const [known] = await clickhouse.query<{ since: string }>(SINCE, position);
    const before = Number(known?.since ?? 0);
    // What is older than any cache entry has nothing to take back.
    const since = Math.max(before - lookBack, (clock() - longestTtlMs) * 1_000, 0);
    const [found] = await clickhouse.query<{ newest: string }>(NEWEST, { since });
    const newest = Number(found?.newest ?? 0);
    if (newest === 0) return { retracted: 0 };

    const rows = await clickhouse.query<Row>(BAD, { since, limit: minimumReward });
    const fresh = rows.filter(({ key, version }) => (done.get(key) ?? 0) < Number(version));
    for (const some of slicesOf(fresh, batch)) await publish(some.map(({ key }) => key));
    for (const { key, version } of fresh) done.set(key, Number(version));
    if (newest > before) await clickhouse.insert("learn_positions", [{ ...position, next_offset: newest }]);
    for (const [key, version] of done) if (version < newest - 2 * lookBack) done.delete(key);
    return { retracted: fresh.length };
  };
}
