// Second verb of curate: expired examples leave; above the byte budget also those of least value,
// by greedy knapsack over decayed offloads and young quality. Rejects as the ClickHouse port does.
import type { Logger } from "pino";
import { knapsack } from "../../algorithms/selection/knapsack.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { ExampleChange } from "../../state/examples/port.ts";

/** Offload credit that is left after an hour (docs/design/selection.md, Example lifecycle). */
export const creditRetention = 0.9;

export interface EvictDependencies {
  clickhouse: Pick<ClickHouse, "query">;
  rules: {
    budgetBytes: number;
    /** Milliseconds after its creation in which an example is not evicted for room. */
    graceMs: number;
  };
  /** Normalised cost of configured arms; unknown sources count as 1. */
  costs: () => ReadonlyMap<string, number>;
  clock: () => number;
  log: Pick<Logger, "info">;
}

export interface Eviction extends ExampleChange {
  value: null;
  reason: "expired" | "no_room";
}

export const noEviction: { evicted: Eviction[] } = { evicted: [] };

export interface EvictionDependencies {
  evict: () => Promise<Eviction[]>;
  publish: (changes: readonly ExampleChange[]) => Promise<void>;
}

export const createEviction =
  ({ evict, publish }: EvictionDependencies) =>
  async (): Promise<{ evicted: Eviction[] }> => {
    const evicted = await evict();
    await publish(evicted);
    return { evicted };
  };

/** A use by a cheaper arm counts as an offload from this quality on. */
const offloadQuality = 0.6;
const mostAtOnce = 5_000;
/** Examples weighed against each other, those of the lowest density. */
const mostRivals = 20_000;
/** When room is made, a little more than is missing: or the next example would ask for it again. */
const fillTo = 0.95;

export interface Rival {
  id: string;
  domain: string;
  bytes: number;
  /** Offloads that it enabled, faded, and its quality as a prior that fades as they do. */
  value: number;
  young: boolean;
}

export function createEvict({ clickhouse, rules, costs, clock, log }: EvictDependencies): () => Promise<Eviction[]> {
  return async function evict() {
    const now = clock();
    const expired = await clickhouse.query<{ id: string; domain: string }>(selectExpired, { now, limit: mostAtOnce });
    if (expired.length > 0) return expired.map(({ id, domain }) => ({ id, domain, value: null, reason: "expired" }));
    const [weight] = await clickhouse.query<{ bytes: number }>(selectPoolBytes);
    const { budgetBytes } = rules;
    if (Number(weight?.bytes ?? 0) <= budgetBytes) return [];
    const rivals = await clickhouse.query<Rival & { pool: number }>(selectRivals, {
      now,
      retention: creditRetention,
      offloadQuality,
      graceMs: rules.graceMs,
      costs: new Map(costs()),
      limit: mostRivals,
    });
    // What it weighs now: others may have left since it was asked.
    const bytes = Number(rivals[0]?.pool ?? 0);
    if (bytes <= budgetBytes) return [];
    const evicted = toLeave(rivals, bytes - budgetBytes * fillTo).slice(0, mostAtOnce);
    const figures = { bytes, budgetBytes, rivals: rivals.length, leaving: evicted.length };
    log.info(figures, "the examples outgrew their budget: those worth the least for their bytes leave");
    return evicted.map(({ id, domain }) => ({ id, domain, value: null, reason: "no_room" }));
  };
}

/** Examples to evict for `excess` bytes at the least loss, those in grace last. */
export function toLeave(rivals: readonly Rival[], excess: number): Rival[] {
  if (excess <= 0) return [];
  const old = rivals.filter(({ young }) => !young);
  if (sumBytes(old) >= excess) return choose(old, excess);
  const young = rivals.filter((rival) => rival.young);
  return [...old, ...choose(young, Math.min(excess - sumBytes(old), sumBytes(young)))];
}

function choose(among: readonly Rival[], excess: number): Rival[] {
  const items = among.map(({ value, bytes }) => ({ value, weight: bytes }));
  const stays = new Set(knapsack(items, Math.max(0, sumBytes(among) - excess)));
  return among.filter((_, index) => !stays.has(index));
}

const sumBytes = (rivals: readonly Rival[]): number => rivals.reduce((sum, { bytes }) => sum + bytes, 0);

/** What is left of one unit of that age; `ms` is an expression, milliseconds since the epoch. */
const faded = (ms: string): string => `pow({retention:Float64}, greatest({now:Int64} - ${ms}, 0) / 3600000)`;

const costOfArm = (arm: string): string =>
  `if(mapContains({costs:Map(String, Float64)}, ${arm}), {costs:Map(String, Float64)}[${arm}], 1)`;

/**
 * An offload: a use by an arm cheaper than the answer's source, of at least {offloadQuality},
 * decayed by the hour and shared. {costs}: by arm; others count 1.
 */
const offloads = `
    SELECT used.example_id AS id, sum(${faded("toUnixTimestamp64Milli(used.created_at)")} / shown.count) AS sum
    FROM example_use_quality AS used
    INNER JOIN (SELECT request_id, tenant, count() AS count FROM example_use_quality GROUP BY request_id, tenant) AS shown
      ON shown.request_id = used.request_id AND shown.tenant = used.tenant
    GLOBAL INNER JOIN (SELECT example_id, source_arm FROM examples FINAL WHERE NOT deleted) AS source ON source.example_id = used.example_id
    WHERE used.quality >= {offloadQuality:Float64} AND used.arm_cost < ${costOfArm("source.source_arm")}
    GROUP BY used.example_id`;

const selectPoolBytes = "SELECT sum(bytes) AS bytes FROM examples FINAL WHERE NOT deleted";

const selectExpired = `
  SELECT example_id AS id, domain FROM examples FINAL
  WHERE NOT deleted AND expires_at <= fromUnixTimestamp64Milli({now:Int64}, 'UTC') ORDER BY expires_at LIMIT {limit:UInt32}`;

// A new example is worth its quality in offloads; that prior fades as offloads do.
// `pool`: bytes of the whole pool, by the same rows. Were it asked for apart, tombstones that are
// recorded in between would make room a second time, by examples that had it.
const selectRivals = `
  SELECT
    example.id AS id, example.domain AS domain, example.bytes AS bytes,
    toBool({now:Int64} - example.createdAt < {graceMs:Float64}) AS young,
    ifNull(offload.sum, 0) + example.quality * ${faded("example.createdAt")} AS value,
    sum(example.bytes) OVER () AS pool
  FROM (
    SELECT example_id AS id, domain, bytes, toUnixTimestamp64Milli(created_at) AS createdAt, quality
    FROM examples FINAL WHERE NOT deleted
  ) AS example
  GLOBAL LEFT JOIN (${offloads}
  ) AS offload ON offload.id = example.id
  ORDER BY young, value / greatest(bytes, 1), id LIMIT {limit:UInt32}`;
