// Second verb of curate: expired examples leave; above the byte budget also those of least value,
// by greedy knapsack over decayed offloads and young quality. Rejects as the ClickHouse port does.
import type { Logger } from "pino";
import { knapsack } from "../../algorithms/selection/knapsack.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { ExampleChange } from "../../state/examples/port.ts";
import { selectExpired, selectPoolBytes, selectRivals } from "./statements.ts";

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

/**
 * Examples to evict for `excess` bytes at the least loss. rivals: by density, those in grace last,
 * which leave only where all others are too few.
 */
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
