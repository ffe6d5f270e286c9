// Which request ids were seen in the last 24 hours, and where first: a record with an id that was first seen elsewhere is a
// duplicate; the same position again is the same record, taken up once more after a crash or a rebalance.
// Bounded a partition, oldest forgotten first; a partition's ids leave with it and come back from ClickHouse (restore.ts).
import type { Position } from "../../runtime/step.ts";

export const SEEN_FOR_MS = 86_400_000;

export interface SeenRequest {
  tenant: string;
  id: string;
  position: Position;
  /** When it was seen, milliseconds since the epoch. */
  seenAt: number;
}

export interface SeenIds {
  /** Where the id was seen first, if that was another record; otherwise null, and this position is remembered as the first. */
  firstSeen(tenant: string, id: string, position: Position, now: number): Position | null;
  /** Adds what was seen before this process had the partition. What it knows already stays. */
  restore(seen: readonly SeenRequest[]): void;
  /** Forgets a partition that was lost. */
  drop(partition: number): void;
  size(): number;
}

/** limit: ids remembered a partition; about 250 bytes each. */
export function createSeenIds({ limit = 50_000 } = {}): SeenIds {
  const partitions = new Map<number, Map<string, { position: Position; seenAt: number }>>();
  // An id belongs to its tenant: another tenant's use of it must neither see nor disturb it.
  const keyOf = (tenant: string, id: string): string => JSON.stringify([tenant, id]);

  function remember(key: string, position: Position, seenAt: number): void {
    const seen = partitions.get(position.partition) ?? new Map<string, { position: Position; seenAt: number }>();
    partitions.set(position.partition, seen);
    seen.set(key, { position, seenAt });
    if (seen.size > limit)
      for (const oldest of seen.keys())
        if (seen.size > limit) seen.delete(oldest);
        else break;
  }

  /** Looks in every partition held: a producer may key its records as it likes. */
  function find(key: string, now: number): Position | null {
    for (const seen of partitions.values()) {
      const entry = seen.get(key);
      if (entry === undefined) continue;
      if (now - entry.seenAt < SEEN_FOR_MS) return entry.position;
      seen.delete(key);
    }
    return null;
  }

  return {
    firstSeen(tenant, id, position, now) {
      const key = keyOf(tenant, id);
      const first = find(key, now);
      if (first === null) {
        remember(key, position, now);
        return null;
      }
      return first.partition === position.partition && first.offset === position.offset ? null : first;
    },
    restore(requests) {
      for (const { tenant, id, position, seenAt } of [...requests].sort((a, b) => a.seenAt - b.seenAt)) {
        const key = keyOf(tenant, id);
        if (find(key, seenAt) === null) remember(key, position, seenAt);
      }
    },
    drop(partition) {
      partitions.delete(partition);
    },
    size: () => [...partitions.values()].reduce((sum, seen) => sum + seen.size, 0),
  };
}
