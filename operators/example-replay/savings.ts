// Savings and costs of past replays: the curve of the cut-off
// (algorithms/routing/example-replay-cut-off.ts), and the next cost. Rejects as the ClickHouse port
// does.
import {
  enoughExampleReplays,
  savingCurve,
  savingHours,
  type SavingCurve,
} from "../../algorithms/routing/example-replay-cut-off.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Example } from "../../schemas/types.ts";
import type { ExampleReplayResult } from "./example-replay.ts";

/** The newest replays count. */
const mostPast = 5_000;
/** What an example replay saved is known a day after it at the earliest: demand has its hours. */
const matureHours = 24;
/** A sample's cost at an arm is known from so many replays on. */
const enoughAtArm = 5;
/** Tokens of an answer with its prompt where none is recorded. */
const usualTokens = 1_000;
const charactersAToken = 4;

// A failed call says nothing of the example. What was saved so far is taken on to two weeks.
const selectPast = `
  SELECT gain, (saved - (1 - {lasting:Float64}) * uses_after * ifNull(use_gain_before, 0)) * {savingHours:Float64} / hours AS saved
  FROM example_replay_savings
  WHERE hours >= {matureHours:Float64} AND outcome != 'failed' AND saved IS NOT NULL
  ORDER BY created_at DESC LIMIT ${mostPast}`;
// What uses cost after an attempt that replaced nothing, and what they would have at the mean of
// those before.
const selectUnreplaced = `
  SELECT count() AS examples, sum(after) AS after, sum(before) AS before
  FROM (
    SELECT countIf(use.created_at >= attempt.created_at) AS uses_after, countIf(use.created_at < attempt.created_at) AS uses_before,
      sumIf(use.gain, use.created_at >= attempt.created_at) AS after,
      uses_after * sumIf(use.gain, use.created_at < attempt.created_at) / uses_before AS before
    FROM (SELECT * FROM example_replay_attempts WHERE outcome != 'replaced' AND created_at < now64(3) - toIntervalHour({matureHours:Float64})) AS attempt
    GLOBAL INNER JOIN example_replay_uses AS use ON use.example_id = attempt.example_id AND use.tenant = attempt.tenant
    WHERE use.created_at >= attempt.created_at - toIntervalHour({savingHours:Float64}) AND use.created_at < attempt.counted_until
    GROUP BY attempt.run_id, attempt.example_id, attempt.tenant, attempt.attempt
    HAVING uses_after > 0 AND uses_before > 0
    ORDER BY max(attempt.created_at) DESC LIMIT ${mostPast}
  )`;
const selectCosts = `
  SELECT arm, sum(ifNull(relative_cost, 0)) / sum(samples) AS cost, count() AS replays FROM example_replays FINAL
  WHERE samples > 0 AND gain IS NOT NULL AND outcome != 'failed' AND created_at > now64(3) - INTERVAL 336 HOUR
  GROUP BY arm`;
const selectTokens = `
  SELECT avgOrNull(prompt_tokens + completion_tokens) AS tokens FROM responses FINAL
  WHERE status = 'ok' AND source = 'generated' AND NOT duplicate AND created_at > now64(3) - INTERVAL 336 HOUR`;

/**
 * Share of what was missing before an attempt that is missing after it where nothing was replaced,
 * [0, 1]: regression to the mean is no saving. 1 where too few are known.
 */
async function readLasting(clickhouse: Pick<ClickHouse, "query">): Promise<number> {
  const [row] = await clickhouse.query<{ examples: number; after: number; before: number }>(selectUnreplaced, {
    ...{ savingHours, matureHours },
  });
  if (row === undefined || row.examples < enoughExampleReplays || !(row.before > 0)) return 1;
  return Math.min(1, row.after / row.before);
}

export async function readSavingCurve(clickhouse: Pick<ClickHouse, "query">): Promise<SavingCurve> {
  const lasting = await readLasting(clickhouse);
  return savingCurve(await clickhouse.query(selectPast, { savingHours, matureHours, lasting }));
}

/**
 * Costs are in average answers of an arm of cost 1: the unit of gain. `costs`: normalised, of each
 * arm; who is none (references as judge) costs nothing.
 */
export async function readExampleReplayCosts(
  clickhouse: Pick<ClickHouse, "query">,
  costs: ReadonlyMap<string, number>,
) {
  const [past, [answers]] = await Promise.all([
    clickhouse.query<{ arm: string; cost: number; replays: number }>(selectCosts),
    clickhouse.query<{ tokens: number | null }>(selectTokens),
  ]);
  const tokens = Math.max(1, answers?.tokens ?? usualTokens);
  const known = new Map(past.filter(({ replays }) => replays >= enoughAtArm).map(({ arm, cost }) => [arm, cost]));
  const costOf = (who: string): number => costs.get(who) ?? 0;
  return {
    of: (result: Pick<ExampleReplayResult, "tokens" | "judgeTokens">, arm: string, judge: string): number =>
      ((result.tokens - result.judgeTokens) * costOf(arm) + result.judgeTokens * costOf(judge)) / tokens,
    /** Expected cost of one replay; leaves out the judge where too few at the arm are recorded. */
    expected({ request, response }: Pick<Example, "request" | "response">, arm: string, samples: number): number {
      const prior = ((request.length + response.length) / charactersAToken / tokens) * costOf(arm);
      return samples * (known.get(arm) ?? prior);
    },
  };
}
