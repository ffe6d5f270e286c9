// How each threshold of helpfulness did, and how each example did: aggregated by ClickHouse
// (schemas/clickhouse/0007_example_views.sql). Rejects as the port does.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { ThresholdOutcome } from "../learnt.ts";

/** In the order of the thresholds. */
export function readThresholds(clickhouse: Pick<ClickHouse, "query">): Promise<ThresholdOutcome[]> {
  return clickhouse.query<ThresholdOutcome>(
    `SELECT tau, requests, mean_reward AS meanReward, mean_tokens AS meanTokens, reward_variance AS rewardVariance,
            tokens_variance AS tokensVariance, covariance
     FROM thresholds ORDER BY tau`,
  );
}

/** What became of the requests that an example was shown on. */
export interface ExampleOutcome {
  /** Rewarded ones. */
  uses: number;
  /** Mean reward, [0, 1]. */
  outcome: number;
}

/** Of the most used examples, at most `limit`, by id. */
export async function readExampleOutcomes(
  clickhouse: Pick<ClickHouse, "query">,
  limit: number,
): Promise<Map<string, ExampleOutcome>> {
  const rows = await clickhouse.query<ExampleOutcome & { id: string }>(
    `SELECT example_id AS id, uses, outcome FROM example_outcomes ORDER BY uses DESC, id LIMIT {limit:UInt32}`,
    { limit },
  );
  return new Map(rows.map(({ id, uses, outcome }) => [id, { uses, outcome }]));
}
