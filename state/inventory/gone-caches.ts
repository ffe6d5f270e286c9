// Caches of examples and documents that are gone: now and then an arm is asked what it holds;
// ClickHouse knows which examples are gone, the topic which documents, and which of their former
// texts. Best effort: a lost cache is made again.
import type { Logger } from "pino";
import type { Arm } from "../../arms/arm.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { repeating } from "../../runtime/repeat.ts";
import { slicesOf } from "../../algorithms/lists/lists.ts";

export interface GoneCachesOptions {
  arm: Pick<Arm, "name" | "caches">;
  /** Those of the pieces that are of no text on the topic; null: not known yet. */
  documents?: { gone(pieces: readonly string[]): string[] | null } | undefined;
  clickhouse: Pick<ClickHouse, "query">;
  clock: () => number;
  log: Logger;
}

const everyMs = 15_000;
/** Passes of which one asks for all that the arm holds, and the others for what was deleted. */
const passes = 20;
/** Parameters go into a URL. */
const atOnce = 500;
/** Milliseconds after which an example without a row is gone. */
const unknownMs = 600_000;

const KNOWN = `
  SELECT example_id AS id, min(deleted) AS gone FROM examples FINAL
  WHERE example_id IN {ids:Array(String)} GROUP BY example_id`;

/** Rows come late when ClickHouse was away. */
const DELETED = `
  SELECT example_id AS id FROM examples FINAL
  WHERE deleted AND kafka_timestamp >= now64() - INTERVAL 1 HOUR
  ORDER BY kafka_timestamp DESC LIMIT 100000`;

/** A pass; resolves to how many caches were removed. */
export function createForgetGone(options: GoneCachesOptions): () => Promise<number> {
  const { arm, documents: onTopic, clickhouse, clock, log } = options;
  /** Since when ClickHouse has nothing of them. */
  const unknown = new Map<string, number>();
  let pass = 0;

  async function deleted(held: ReadonlySet<string>): Promise<string[]> {
    const rows = held.size === 0 ? [] : await clickhouse.query<{ id: string }>(DELETED);
    return rows.flatMap(({ id }) => (held.has(id) ? [id] : []));
  }

  async function goneOf(ids: readonly string[], held: ReadonlySet<string>): Promise<string[]> {
    const now = clock();
    const gone: string[] = [];
    for (const id of unknown.keys()) if (!held.has(id)) unknown.delete(id);
    for (const some of slicesOf(ids, atOnce)) {
      const rows = await clickhouse.query<{ id: string; gone: boolean | number }>(KNOWN, { ids: some });
      const known = new Map(rows.map((row) => [row.id, Boolean(row.gone)]));
      for (const id of some) {
        const isGone = known.get(id);
        if (isGone !== undefined) unknown.delete(id);
        else if (!unknown.has(id)) unknown.set(id, now);
        if (isGone ?? now - unknown.get(id)! >= unknownMs) gone.push(id);
      }
    }
    return gone;
  }

  return async function removeGone() {
    if (arm.caches === undefined) return 0;
    const cached = await arm.caches.cached();
    const held = new Set(cached.examples);
    const documents = onTopic?.gone(cached.documents) ?? [];
    // ClickHouse may be away; documents don't wait for it.
    const before = documents.length === 0 ? 0 : await arm.caches.forget({ examples: [], documents });
    const examples = pass++ % passes === 0 ? await goneOf(cached.examples, held) : await deleted(held);
    const caches = before + (examples.length === 0 ? 0 : await arm.caches.forget({ examples, documents: [] }));
    if (examples.length + documents.length === 0) return 0;
    const counts = { examples: examples.length, documents: documents.length, caches };
    log.info({ arm: arm.name, ...counts }, "caches of what is gone were removed");
    return caches;
  };
}

/** Until it is stopped; nothing where the arm keeps no caches. */
export function forgetGone(options: GoneCachesOptions): { stop(): Promise<void> } {
  if (options.arm.caches === undefined) return { stop: () => Promise.resolve() };
  return repeating(createForgetGone(options), { everyMs, log: options.log });
}
