// Aggregates only where rows have come. Feedback and withdrawals count at once; decisions and
// responses alone may wait, as few of them have rewards.
import { lookAnywayMs, type RowCounts } from "../row-counts.ts";
import type { Aggregate, Progress } from "./aggregate.ts";
import type { Table } from "./statements.ts";

export const aggregateTables = [
  "feedback",
  "withdrawals",
  "decisions",
  "responses",
] as const satisfies readonly Table[];

export interface WhenChangedDependencies {
  aggregate: Aggregate;
  counts: RowCounts<Table>;
  /** How long new rows wait while no feedback or withdrawal is new, milliseconds. */
  lateMs: number;
  clock: () => number;
}

const nothing: Progress = { rows: 0, buckets: 0, more: false };

export function aggregateWhenChanged({ aggregate, counts, lateMs, clock }: WhenChangedDependencies): Aggregate {
  /** Row counts of the tables, before the last time; undefined: not all was taken in. */
  let taken: { counts: Readonly<Record<Table, number>>; at: number } | undefined;

  const mayWait = (now: Readonly<Record<Table, number>>): boolean => {
    if (taken === undefined) return false;
    if (now.feedback !== taken.counts.feedback || now.withdrawals !== taken.counts.withdrawals) return false;
    const isSame = now.decisions === taken.counts.decisions && now.responses === taken.counts.responses;
    return clock() - taken.at < (isSame ? lookAnywayMs : Math.min(lateMs, lookAnywayMs));
  };

  return {
    async advance() {
      const now = { counts: await counts(), at: clock() };
      if (mayWait(now.counts)) return nothing;
      taken = undefined;
      const progress = await aggregate.advance();
      if (!progress.more) taken = now;
      return progress;
    },
    statistics: (halfLifeHours) => aggregate.statistics(halfLifeHours),
    domains: (halfLifeHours) => aggregate.domains(halfLifeHours),
    pairs: () => aggregate.pairs(),
  };
}
