// Searches a domain in the collection: keys first, then the rows that are not in memory. Leaves out
// examples that were withdrawn, have expired or are of another domain.
import type { MilvusReads, MilvusRow } from "../../../connections/milvus/port.ts";
import type { Candidate } from "../port.ts";
import { candidateOf, isExpired, nearestOf, type Popular } from "./popular.ts";
import { exampleOf, groupOf } from "./rows.ts";
import type { Withdrawn } from "./withdrawn.ts";

export interface SearchDependencies {
  collection: Pick<MilvusReads, "search" | "read">;
  popular: Popular;
  withdrawn: Pick<Withdrawn, "has" | "size" | "isComplete">;
  /** Milliseconds for the whole search. */
  limitMs: number;
  strong: boolean;
}

/** Maximum hits beyond k, since some may be withdrawn. */
const mostBeyond = 128;

export function createSearch({ collection, popular, withdrawn, limitMs, strong }: SearchDependencies) {
  /** Caches the row's example; undefined: it may not be shown. */
  function take(row: MilvusRow, generation: number): ReturnType<Popular["get"]> {
    const example = exampleOf(row);
    // It may have been withdrawn during the call.
    if (example === undefined || row.generation !== generation) return undefined;
    if (withdrawn.has(row.key) || !withdrawn.isComplete()) return undefined;
    return popular.put(row.key, row.stamp, example, row.vector);
  }

  return async function search(
    domain: string,
    vector: Float32Array,
    k: number,
    { generation, now }: { generation: number; now: number },
  ): Promise<Candidate[]> {
    const began = performance.now();
    const query = { group: groupOf(domain), generation, now, vector, k: k + Math.min(withdrawn.size(), mostBeyond) };
    const hits = await collection.search(query, { timeoutMs: limitMs, strong });
    const missing = hits.filter(({ key, stamp }) => !withdrawn.has(key) && popular.get(key, stamp) === undefined);
    const timeoutMs = Math.max(1, limitMs - (performance.now() - began));
    const rows = await collection.read(
      missing.map(({ key }) => key),
      { timeoutMs, strong },
    );
    const read = new Map(rows.map((row) => [row.key, take(row, generation)]));
    const found: Candidate[] = [];
    for (const { key, stamp } of hits) {
      const entry = withdrawn.has(key) ? undefined : (popular.get(key, stamp) ?? read.get(key));
      if (entry === undefined || entry.example.domain !== domain || isExpired(entry.example, now)) continue;
      found.push(candidateOf(entry, vector));
    }
    return nearestOf(found, k);
  };
}
