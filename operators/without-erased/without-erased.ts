// Leaves out rows of what was erased (precedent forget), however they come; their positions count
// as stored. Waits for ClickHouse as insert does.
import { erasedLetter, erasedRequest, erasedTenant } from "../../algorithms/privacy/erasure.ts";
import { createLines } from "../../runtime/lines.ts";
import type { Lines, Row, TableLines } from "../../runtime/rows.ts";
import { untilDone } from "../../runtime/until-done.ts";
import { personalTables } from "../../schemas/personal-data.ts";
import type { Erased } from "../erased.ts";

export interface WithoutErasedDependencies {
  erasedAmong: (hashes: Iterable<string>) => Promise<Erased>;
  insert: (tables: readonly TableLines[], signal: AbortSignal) => Promise<void>;
  onErased?: (rows: number) => void;
  onWaiting?: (cause: unknown) => void;
}

const waits = { first: 100, limit: 10_000 };
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Hashes by which an erasure finds a row; empty: no erasure concerns it. Pure. */
function hashesOf(table: string, read: () => Row): string[] {
  const kept = personalTables[table];
  if (kept === undefined || "none" in kept || kept.by === "example-replay") return [];
  const row = read();
  const tenant = textOf(row.tenant);
  if (kept.by === "letter") {
    const { source_topic: topic, source_partition: partition, source_offset: offset } = row;
    const key = Buffer.from(textOf(row.key_base64), "base64").toString("utf8");
    const letter = erasedLetter({ topic: textOf(topic), partition: Number(partition), offset: Number(offset) });
    return [letter, erasedTenant(tenant), erasedRequest(tenant, key)];
  }
  const id = textOf(table === "examples" ? row.source_request_id : row.request_id);
  return [erasedTenant(tenant), ...(id === "" ? [] : [erasedRequest(tenant, id)])];
}

function without(erased: Erased, table: string, lines: Lines): Lines {
  const left = createLines();
  for (let index = 0; index < lines.length; index++) {
    const row = lines.row(index);
    const until = Math.max(...hashesOf(table, () => row).map((hash) => erased.get(hash) ?? -Infinity));
    // A tombstone of an example says nothing but that it is gone.
    const isErased = Date.parse(`${row.created_at.replace(" ", "T")}Z`) < until && row.deleted !== true;
    if (!isErased) left.add(row, lines.source(index));
  }
  return left.length === lines.length ? lines : left;
}

export function createWithoutErased({ erasedAmong, insert, onErased, onWaiting }: WithoutErasedDependencies) {
  /** Rejects only when the signal aborts. */
  return async function insertWithoutErased(tables: readonly TableLines[], signal: AbortSignal): Promise<void> {
    // Made only if they are looked at: nearly everywhere nothing was ever erased.
    const all: Iterable<string> = {
      *[Symbol.iterator]() {
        for (const { table, lines } of tables)
          for (let index = 0; index < lines.length; index++) yield* hashesOf(table, () => lines.row(index));
      },
    };
    const erased = await untilDone(() => erasedAmong(all), { waits, signal, onFailure: onWaiting });
    if (erased.size === 0) return insert(tables, signal);
    const left = tables.map(({ table, lines }) => ({ table, lines: without(erased, table, lines) }));
    const count = (of: readonly TableLines[]): number => of.reduce((sum, { lines }) => sum + lines.length, 0);
    onErased?.(count(tables) - count(left));
    await insert(left, signal);
  };
}
