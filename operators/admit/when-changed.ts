// Looks for candidates only where rows have come since a look that found nothing. What was found
// may have to wait, so after it every pass looks.
import { lookAnywayMs, type RowCounts } from "../row-counts.ts";
import type { CandidateBatch } from "./candidates.ts";

/** Where candidates come from. */
export const candidateTables = ["rewards", "feedback", "withdrawals", "requests", "responses", "observations"] as const;

export interface WhenChangedDependencies {
  candidates: () => Promise<CandidateBatch>;
  counts: RowCounts<(typeof candidateTables)[number]>;
  clock: () => number;
}

export function candidatesWhenChanged({ candidates, counts, clock }: WhenChangedDependencies) {
  /** Row counts of the tables, before the look that found nothing. */
  let quiet: { counts: string; at: number } | undefined;
  return async function newCandidates(): Promise<CandidateBatch> {
    const now = { counts: JSON.stringify(await counts()), at: clock() };
    if (quiet?.counts === now.counts && now.at - quiet.at < lookAnywayMs)
      return { candidates: [], cursors: [], more: false };
    quiet = undefined;
    const batch = await candidates();
    if (batch.candidates.length === 0 && batch.cursors.length === 0 && !batch.more) quiet = now;
    return batch;
  };
}
