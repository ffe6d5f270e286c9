// The third verb of record: rows into ClickHouse. Waits for as long as ClickHouse is away or its
// tables are not what they must be: nothing is skipped for that. Rows that ClickHouse refuses for
// what they hold are found by halving the batch, and only those become dead letters. Needs rows in
// the order of their partitions and keeps it, so that the highest offset in a table always stands
// on a whole prefix.
import { setTimeout as delay } from "node:timers/promises";
import { backoff } from "../../algorithms/backoff.ts";
import { ClickHouseRejected, type ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Entry, Source, TableEntries } from "../../runtime/rows.ts";

export interface InsertDependencies {
  clickhouse: Pick<ClickHouse, "insert">;
  /**
   * Takes a record whose row is refused; resolves when its bytes are safe. Rejections are waited
   * out like ClickHouse's.
   */
  deadLetter(source: Source, code: string, reason: string): Promise<void>;
  /** Told once a failed attempt. */
  onWaiting?: (cause: unknown) => void;
  /** Milliseconds before the first repeat; doubled to at most maxBackoffMs. */
  backoffMs?: number;
  maxBackoffMs?: number;
}

// Codes that say "this value can't stand in this column". Everything else that is refused (no such
// table, no such column, wrong password) would be refused for every row: that is a table to repair,
// not a row to give up.
const dataCodes = new Set([
  // Parsing, ranges, types, sizes, nulls, depth, constraints, enums.
  ..."6 25 26 27 33 38 41 53 69 70 72 74 117 128 130 131 190 306 321 349 376 407 441 467 469 675 676 691".split(" "),
]);

/** The month of a row's own time, by which tables are partitioned. */
const month = ({ createdAt }: Entry): string => createdAt.slice(0, 7);

/**
 * An INSERT is all or nothing within one partition of the table only: a batch is cut where the
 * month changes.
 */
function byMonth(entries: Entry[]): Entry[][] {
  const runs: Entry[][] = [];
  for (const entry of entries) {
    const run = runs.at(-1);
    const first = run?.[0];
    if (run !== undefined && first !== undefined && month(first) === month(entry)) run.push(entry);
    else runs.push([entry]);
  }
  return runs;
}

/** Rejects only when the signal aborts. */
export function createInsert(dependencies: InsertDependencies) {
  const { clickhouse, deadLetter, onWaiting, backoffMs = 100, maxBackoffMs = 10_000 } = dependencies;

  /** Repeats until it succeeds; what `giveUp` accepts is returned instead. */
  async function retried(
    attempt: () => Promise<void>,
    signal: AbortSignal,
    giveUp: (error: unknown) => error is ClickHouseRejected,
  ): Promise<ClickHouseRejected | null> {
    const waits = backoff({ first: backoffMs, limit: maxBackoffMs });
    for (;;) {
      signal.throwIfAborted();
      try {
        await attempt();
        return null;
      } catch (error) {
        if (giveUp(error)) return error;
        onWaiting?.(error);
        await delay(waits.next(), undefined, { signal });
      }
    }
  }

  async function insertRun(table: string, entries: Entry[], signal: AbortSignal): Promise<void> {
    const rows = entries.map(({ text }) => text);
    const refused = await retried(() => clickhouse.insert(table, rows), signal, isPoison);
    if (refused === null) return;
    const [only] = entries;
    if (entries.length === 1 && only !== undefined) {
      await retried(() => deadLetter(only.source, `clickhouse_${refused.code}`, refused.message), signal, never);
      return;
    }
    const middle = entries.length >> 1;
    await insertRun(table, entries.slice(0, middle), signal);
    await insertRun(table, entries.slice(middle), signal);
  }

  return async function insert(tables: readonly TableEntries[], signal: AbortSignal): Promise<void> {
    await Promise.all(
      tables.map(async ({ table, entries }) => {
        for (const run of byMonth(entries)) await insertRun(table, run, signal);
      }),
    );
  };
}

const isPoison = (error: unknown): error is ClickHouseRejected =>
  error instanceof ClickHouseRejected && dataCodes.has(error.code);
const never = (_error: unknown): _error is ClickHouseRejected => false;
