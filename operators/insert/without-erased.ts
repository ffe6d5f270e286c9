// Leaves out rows of what was erased (precedent forget): records that were under way then, feedback
// that comes later, topics that are read again. Their positions count as stored; read again after a
// restart, they are left out again. Waits for ClickHouse as insert does.
import { setTimeout as delay } from "node:timers/promises";
import { backoff } from "../../algorithms/backoff.ts";
import { erasedLetter, erasedRequest, erasedTenant } from "../../algorithms/erasure.ts";
import { rowOf, type Entry, type TableEntries } from "../../runtime/rows.ts";
import { personalTables } from "../../schemas/personal-data.ts";
import type { Erased } from "../erased.ts";

export interface WithoutErasedDependencies {
  erasedAmong: (hashes: Iterable<string>) => Promise<Erased>;
  insert: (tables: readonly TableEntries[], signal: AbortSignal) => Promise<void>;
  /** Told of rows that are left out. */
  onErased?: (rows: number) => void;
  /** Told once a failed attempt. */
  onWaiting?: (cause: unknown) => void;
}

const waits = { first: 100, limit: 10_000 };
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** By which an erasure knows a row; none: it is nobody's. Pure. */
function hashesOf(table: string, entry: Entry): string[] {
  const kept = personalTables[table];
  if (kept === undefined || "none" in kept || kept.by === "replay") return [];
  const row = rowOf(entry);
  const tenant = textOf(row.tenant);
  if (kept.by === "letter") {
    const { source_topic: topic, source_partition: partition, source_offset: offset } = row;
    const key = Buffer.from(textOf(row.key_base64), "base64").toString("utf8");
    const place = erasedLetter({ topic: textOf(topic), partition: Number(partition), offset: Number(offset) });
    return [place, erasedTenant(tenant), erasedRequest(tenant, key)];
  }
  const id = textOf(table === "examples" ? row.source_request_id : row.request_id);
  return [erasedTenant(tenant), ...(id === "" ? [] : [erasedRequest(tenant, id)])];
}

export function createWithoutErased({ erasedAmong, insert, onErased, onWaiting }: WithoutErasedDependencies) {
  async function find(hashes: Iterable<string>, signal: AbortSignal): Promise<Erased> {
    const pause = backoff(waits);
    for (;;) {
      signal.throwIfAborted();
      try {
        return await erasedAmong(hashes);
      } catch (error) {
        onWaiting?.(error);
        await delay(pause.next(), undefined, { signal });
      }
    }
  }

  /** Rejects only when the signal aborts. */
  return async function insertWithoutErased(tables: readonly TableEntries[], signal: AbortSignal): Promise<void> {
    // Made only if they are looked at: nearly everywhere nothing was ever erased.
    const all: Iterable<string> = {
      *[Symbol.iterator]() {
        for (const { table, entries } of tables) for (const entry of entries) yield* hashesOf(table, entry);
      },
    };
    const erased = await find(all, signal);
    if (erased.size === 0) return insert(tables, signal);
    const isErased = (table: string, entry: Entry): boolean =>
      hashesOf(table, entry).some(
        (hash) => Date.parse(`${entry.createdAt.replace(" ", "T")}Z`) < (erased.get(hash) ?? -Infinity),
      ) &&
      // A tombstone of an example says nothing but that it is gone.
      rowOf(entry).deleted !== true;
    const left = tables.map(({ table, entries }) => ({
      table,
      entries: entries.filter((entry) => !isErased(table, entry)),
    }));
    const count = (of: readonly TableEntries[]): number => of.reduce((sum, { entries }) => sum + entries.length, 0);
    onErased?.(count(tables) - count(left));
    await insert(left, signal);
  };
}
