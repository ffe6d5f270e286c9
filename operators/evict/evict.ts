// The second verb of curate: what leaves the pool. Expired examples always; when the pool weighs
// more than its budget, those whose loss costs the least, by knapsack over the value of each: the
// offloads that it made possible, fading by the hour, and its quality while it is young. Reads
// ClickHouse and decides; serving never waits for it. Rejects as the ClickHouse port does.
import { creditRetention } from "../../algorithms/gain.ts";
import { knapsack } from "../../algorithms/knapsack.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { ExampleChange } from "../example-change.ts";

export interface EvictDependencies {
  clickhouse: Pick<ClickHouse, "query">;
  rules: {
    /** Of texts and embeddings. */
    budgetBytes: number;
    /** Milliseconds after its creation in which an example is not evicted for room. */
    graceMs: number;
    /** A use by a cheaper arm counts as an offload from this quality on. */
    offloadQuality: number;
  };
  /**
   * Normalised cost of each configured arm; where the source of an example is none of them it
   * counts as the most expensive, 1.
   */
  costs: () => ReadonlyMap<string, number>;
  /** Milliseconds since the epoch. */
  clock: () => number;
}

export interface Eviction extends ExampleChange {
  value: null;
  reason: "expired" | "no_room";
}

/** Where nothing is evicted. */
export const noEviction: { evicted: Eviction[] } = { evicted: [] };

export interface EvictionDependencies {
  evict: () => Promise<Eviction[]>;
  /** All changes or none. */
  publish: (changes: readonly ExampleChange[]) => Promise<void>;
}

/** Evicts and publishes that. */
export const createEviction =
  ({ evict, publish }: EvictionDependencies) =>
  async (): Promise<{ evicted: Eviction[] }> => {
    const evicted = await evict();
    await publish(evicted);
    return { evicted };
  };

/** Tombstones of one round. */
const mostAtOnce = 5_000;
/** When room is made, a little more than is missing: or the next example would ask for it again. */
const fillTo = 0.95;

const selectExpired = `
  SELECT example_id AS id, domain FROM examples FINAL
  WHERE NOT deleted AND expires_at <= fromUnixTimestamp64Milli({now:Int64}, 'UTC') ORDER BY expires_at LIMIT ${mostAtOnce}`;

// A use is shared among the examples that were shown together.
const selectValues = `
  SELECT
    example.id AS id, example.domain AS domain, example.bytes AS bytes, example.createdAt AS createdAt, example.quality AS quality,
    ifNull(offload.credit, 0) AS credit
  FROM (
    SELECT example_id AS id, domain, bytes, toUnixTimestamp64Milli(created_at) AS createdAt, quality
    FROM examples FINAL WHERE NOT deleted
  ) AS example
  GLOBAL LEFT JOIN (
    SELECT used.example_id AS id, sum(pow({retention:Float64}, greatest({now:Int64} - toUnixTimestamp64Milli(used.created_at), 0) / 3600000) / shown.count) AS credit
    FROM example_use_quality AS used
    INNER JOIN (SELECT request_id, tenant, count() AS count FROM example_use_quality GROUP BY request_id, tenant) AS shown
      ON shown.request_id = used.request_id AND shown.tenant = used.tenant
    GLOBAL INNER JOIN (SELECT example_id, source_arm FROM examples FINAL WHERE NOT deleted) AS source ON source.example_id = used.example_id
    WHERE used.quality >= {offloadQuality:Float64}
      AND used.arm_cost < if(mapContains({costs:Map(String, Float64)}, source.source_arm), {costs:Map(String, Float64)}[source.source_arm], 1)
    GROUP BY used.example_id
  ) AS offload ON offload.id = example.id`;

export interface Valued {
  id: string;
  domain: string;
  bytes: number;
  /** Milliseconds since the epoch. */
  createdAt: number;
  quality: number;
  /** Offloads that it enabled, faded. */
  credit: number;
}

export function createEvict({ clickhouse, rules, costs, clock }: EvictDependencies): () => Promise<Eviction[]> {
  return async function evict() {
    const now = clock();
    const expired = await clickhouse.query<{ id: string; domain: string }>(selectExpired, { now });
    if (expired.length > 0) return expired.map(({ id, domain }) => ({ id, domain, value: null, reason: "expired" }));
    const [weight] = await clickhouse.query<{ bytes: number }>(
      "SELECT sum(bytes) AS bytes FROM examples FINAL WHERE NOT deleted",
    );
    if ((weight?.bytes ?? 0) <= rules.budgetBytes) return [];
    const valued = await clickhouse.query<Valued>(selectValues, {
      now,
      retention: creditRetention,
      offloadQuality: rules.offloadQuality,
      costs: new Map(costs()),
    });
    return toLeave(valued, rules, now)
      .slice(0, mostAtOnce)
      .map(({ id, domain }) => ({ id, domain, value: null, reason: "no_room" }));
  };
}

/**
 * Which examples have to go; none while all fit. In grace nobody goes, unless those in grace alone
 * are too many. Pure.
 */
export function toLeave(
  examples: readonly Valued[],
  { budgetBytes, graceMs }: Pick<EvictDependencies["rules"], "budgetBytes" | "graceMs">,
  now: number,
): Valued[] {
  const total = sumBytes(examples);
  if (total <= budgetBytes) return [];
  const room = budgetBytes * fillTo;
  const young = examples.filter(({ createdAt }) => now - createdAt < graceMs);
  const fits = sumBytes(young) <= room;
  const rivals = fits ? examples.filter(({ createdAt }) => now - createdAt >= graceMs) : examples;
  const kept = new Set(
    knapsack(
      rivals.map((example) => ({ value: valueOf(example, now), weight: example.bytes })),
      fits ? room - sumBytes(young) : room,
    ),
  );
  return rivals.filter((_, index) => !kept.has(index));
}

const sumBytes = (examples: readonly Valued[]): number => examples.reduce((sum, { bytes }) => sum + bytes, 0);

/** A new example is worth its quality in offloads; that prior fades as offloads do. */
function valueOf({ credit, quality, createdAt }: Valued, now: number): number {
  return credit + quality * creditRetention ** (Math.max(0, now - createdAt) / 3_600_000);
}
