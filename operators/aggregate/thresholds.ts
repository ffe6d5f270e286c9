// How each helpfulness threshold did, aggregated by ClickHouse
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
