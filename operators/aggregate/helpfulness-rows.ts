// Rows that the helpfulness model learns from, out of ClickHouse: bounded, the newest of the best
// evidence first. Rejects as the port does.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { selectDirect, selectObserved, selectSince, selectTrials } from "./helpfulness-statements.ts";

export interface HelpfulnessRow {
  /** The same for all rows of the same question: never split between training and hold-out. */
  group: string;
  features: readonly number[];
  /** Estimated quality with the example less without; a trial's is in [-2, 2] at p = 1/2. */
  effect: number;
  /** > 0. */
  weight: number;
}

export interface HelpfulnessEvidence {
  rows: readonly HelpfulnessRow[];
  kinds: { trial: number; direct: number; observed: number };
  /** Newest feedback in them, milliseconds since the epoch; null when there are none. */
  trainedThrough: number | null;
}

export interface HelpfulnessRowsDependencies {
  clickhouse: Pick<ClickHouse, "query">;
  /** Layout of the features, and how many there are; rows of another layout are left out. */
  featureVersion: number;
  featureCount: number;
}

type Selected = HelpfulnessRow & { newestAt: number };

/** At most `limit` rows: trials first, then comparisons, then observations. */
export function createHelpfulnessRows({ clickhouse, featureVersion, featureCount }: HelpfulnessRowsDependencies) {
  return async function helpfulnessRows(limit: number): Promise<HelpfulnessEvidence> {
    const [oldest] = await clickhouse.query<{ since: number }>(selectSince, { rows: limit });
    const select = (sql: string, rows: number): Promise<Selected[]> =>
      rows === 0
        ? Promise.resolve([])
        : clickhouse.query<Selected>(sql, { rows, since: oldest?.since ?? 0, featureVersion, featureCount });
    const trial = await select(selectTrials, limit);
    const direct = await select(selectDirect, limit - trial.length);
    const observed = await select(selectObserved, limit - trial.length - direct.length);
    const all = [...trial, ...direct, ...observed];
    return {
      rows: all.map(({ group, features, effect, weight }) => ({ group, features, effect, weight })),
      kinds: { trial: trial.length, direct: direct.length, observed: observed.length },
      trainedThrough: all.reduce<number | null>((newest, { newestAt }) => Math.max(newest ?? newestAt, newestAt), null),
    };
  };
}
