// Which request ids were seen in the last 24 hours, and where first: a record with an id that was
// first seen elsewhere is a duplicate; the same position again is the same record, taken up once
// more after a crash or a rebalance. Bounded a partition, oldest forgotten first; a partition's ids
// leave with it and come back from the topic seen-ids (restore.ts), where each is committed with
// the first request that has it (operators/contracts.ts).
import { requestKey } from "../../algorithms/identity/identity.ts";
import type { Position } from "../../runtime/step.ts";

export const SEEN_FOR_MS = 86_400_000;
/** Ids remembered a partition; about 370 bytes each. */
export const mostSeen = 50_000;

export interface SeenRequest {
  tenant: string;
  id: string;
  position: Position;
  /** When it was seen, milliseconds since the epoch. */
  seenAt: number;
  /** Hash of what was asked with it. */
  hash: string;
}

export type SeenIds = ReturnType<typeof createSeenIds>;

interface Entry {
  position: Position;
  seenAt: number;
  hash: string;
}

/** limit: ids remembered a partition. */
export function createSeenIds({ limit = mostSeen } = {}) {
  const partitions = new Map<number, Map<string, Entry>>();
  // An id belongs to its tenant: another tenant's use of it must neither see nor disturb it.
  const keyOf = requestKey;

  function remember(key: string, position: Position, seenAt: number, hash: string): void {
    const seen = partitions.get(position.partition) ?? new Map<string, Entry>();
    partitions.set(position.partition, seen);
    seen.set(key, { position, seenAt, hash });
    if (seen.size > limit)
      for (const oldest of seen.keys())
        if (seen.size > limit) seen.delete(oldest);
        else break;
  }

  /** Looks in every partition held: a producer may key its records as it likes. */
  function find(key: string, now: number): Entry | null {
    for (const seen of partitions.values()) {
      const entry = seen.get(key);
      if (entry === undefined) continue;
      if (now - entry.seenAt < SEEN_FOR_MS) return entry;
      seen.delete(key);
    }
    return null;
  }

  return {
    /**
     * Where the id was seen first, if that was another record; otherwise null, and this position is
     * remembered as the first, with the hash of what it asks. now: when the record came.
     */
    firstSeen(tenant: string, id: string, position: Position, now: number, hash: string): Position | null {
      const key = keyOf(tenant, id);
      const first = find(key, now)?.position;
      if (first === undefined) {
        remember(key, position, now, hash);
        return null;
      }
      return first.partition === position.partition && first.offset === position.offset ? null : first;
    },
    /**
     * What is remembered of an id that was seen first in this very record; undefined: it was not.
     */
    firstAt(
      tenant: string,
      id: string,
      { partition, offset }: Pick<Position, "partition" | "offset">,
    ): Pick<SeenRequest, "hash" | "seenAt"> | undefined {
      const entry = partitions.get(partition)?.get(keyOf(tenant, id));
      return entry?.position.offset === offset ? { hash: entry.hash, seenAt: entry.seenAt } : undefined;
    },
    /** Hash of what was asked with an id first; undefined: not seen. */
    hashOf: (tenant: string, id: string): string | undefined => find(keyOf(tenant, id), -Infinity)?.hash,
    /** Adds what was seen before this process had the partition. What it knows already stays. */
    restore(requests: readonly SeenRequest[]): void {
      for (const { tenant, id, position, seenAt, hash } of [...requests].sort((a, b) => a.seenAt - b.seenAt)) {
        const key = keyOf(tenant, id);
        if (find(key, seenAt) === null) remember(key, position, seenAt, hash);
      }
    },
    /** Forgets a partition that was lost. */
    drop(partition: number): void {
      partitions.delete(partition);
    },
    size: (): number => [...partitions.values()].reduce((sum, seen) => sum + seen.size, 0),
  };
}
