// Rounds of synthesis in ClickHouse: noise and result of each. From them follow what is left of a
// budget, and where a broken-off run goes on.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";

export interface Round {
  runId: string;
  round: number;
  noise: number;
  chosen: string[];
}

/** The rounds of a shared domain, in order. Rejects as the ClickHouse port does. */
export const readRounds = (clickhouse: Pick<ClickHouse, "query">, shared: string): Promise<Round[]> =>
  clickhouse.query<Round>(
    "SELECT run_id AS runId, round, noise, chosen FROM synthesis_rounds WHERE domain = {shared:String} ORDER BY created_at, round",
    { shared },
  );

export const writeRound = (
  clickhouse: Pick<ClickHouse, "insert">,
  shared: string,
  { runId, ...round }: Round,
  now: number,
): Promise<unknown> =>
  clickhouse.insert("synthesis_rounds", [{ domain: shared, run_id: runId, ...round, created_at: now }]);

/** mu of all of them together (algorithms/privacy/gaussian-privacy.ts). */
export const muSpent = (rounds: readonly Pick<Round, "noise">[]): number =>
  Math.sqrt(rounds.reduce((sum, { noise }) => sum + 1 / noise ** 2, 0));
