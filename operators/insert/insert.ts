// Third verb of record: rows into ClickHouse, waiting while it is away. Refused rows are found by
// halving the batch and dead-lettered. Keeps partition order, so that the highest offset stands on
// a whole prefix.
import { ClickHouseRejected, type ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Lines, Source, TableLines } from "../../runtime/rows.ts";
import { untilDone } from "../../runtime/until-done.ts";

export interface InsertDependencies {
  clickhouse: Pick<ClickHouse, "insertLines">;
  /** Takes a refused row's record; resolves when its bytes are safe. */
  deadLetter(source: Source, code: string, reason: string): Promise<void>;
  onWaiting?: (cause: unknown) => void;
  /** Milliseconds before the first repeat; doubled to at most 10 s. */
  backoffMs?: number;
}

const maxBackoffMs = 10_000;

// Codes that say "this value can't stand in this column". Everything else that is refused (no such
// table, no such column, wrong password) would be refused for every row: that is a table to repair,
// not a row to give up.
const dataCodes = new Set([
  // Parsing, ranges, types, sizes, nulls, depth, constraints, enums.
  ..."6 25 26 27 33 38 41 53 69 70 72 74 117 128 130 131 190 306 321 349 376 407 441 467 469 675 676 691".split(" "),
]);

/** An INSERT is atomic within a partition (month) only: batches are cut there. */
const byMonth = ({ months, length }: Lines): [number, number][] =>
  months.map((from, index) => [from, months[index + 1] ?? length]);

/** Rejects only when the signal aborts. */
export function createInsert(dependencies: InsertDependencies) {
  const { clickhouse, deadLetter, onWaiting, backoffMs = 100 } = dependencies;

  const waits = { first: backoffMs, limit: maxBackoffMs };

  async function insertRun({ table, lines }: TableLines, from: number, to: number, signal: AbortSignal): Promise<void> {
    const retrying = { waits, signal, onFailure: onWaiting };
    const refused = await untilDone(async () => {
      try {
        await clickhouse.insertLines(table, { count: to - from, bytes: lines.bytesOf(from, to) });
        return null;
      } catch (error) {
        if (isPoison(error)) return error;
        throw error;
      }
    }, retrying);
    if (refused === null) return;
    if (to - from === 1) {
      const { tenant } = lines.row(from);
      const source = { ...lines.source(from), ...(typeof tenant === "string" && { tenant }) };
      await untilDone(() => deadLetter(source, `clickhouse_${refused.code}`, refused.message), retrying);
      return;
    }
    const middle = from + ((to - from) >> 1);
    await insertRun({ table, lines }, from, middle, signal);
    await insertRun({ table, lines }, middle, to, signal);
  }

  return async function insert(tables: readonly TableLines[], signal: AbortSignal): Promise<void> {
    await Promise.all(
      tables.map(async (one) => {
        for (const [from, to] of byMonth(one.lines)) await insertRun(one, from, to, signal);
      }),
    );
  };
}

const isPoison = (error: unknown): error is ClickHouseRejected =>
  error instanceof ClickHouseRejected && dataCodes.has(error.code);
