// Comparisons as rows for solve: the newest, with the contexts of both arms. What does not count as
// a reward for its source (counting.ts) does not count here.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { sourceCounts, withWithdrawals } from "../counting.ts";
import type { Pair } from "../learnt.ts";
import { answeredByAnother, inRange, sourceWeight } from "./statements.ts";

const mostPairs = 10_000;
const kinds = "('preference', 'comparison')";
const compared = `SELECT request_id, tenant FROM feedback WHERE kind IN ${kinds}`;

/** Whether there is a comparison among what is new, or one withdrawn. */
export const selectNewPairs = `
SELECT count() AS count FROM feedback
WHERE (kind IN ${kinds} OR withdraws IS NOT NULL) AND ${inRange("feedback")}
  OR kind IN ${kinds} AND (request_id, tenant) IN (
    SELECT request_id, tenant FROM decisions WHERE ${inRange("decisions")}
    UNION DISTINCT ${answeredByAnother} AND ${inRange("responses")})
SETTINGS distributed_product_mode = 'local'`;

/** Newest of each source, kind and other arm. outcome 1: the chosen arm's is better; ties 0.3. */
const selectPairs = (byTenant?: { mostTenants: number }): string => `
WITH
  reported AS (
    WITH ${withWithdrawals}
    SELECT
      request_id, tenant, source, kind, assumeNotNull(against) AS other,
      argMax(assumeNotNull(value), (created_at, kafka_offset, feedback_id)) AS latest_value,
      max(created_at) AS latest_at, any(${sourceWeight}) AS source_weight
    FROM feedback FINAL
    WHERE kind IN ${kinds} AND against IS NOT NULL AND ifNull(isFinite(value), 0) AND ${sourceWeight} > 0
      AND ${sourceCounts(compared)} AND (request_id, tenant, feedback_id) NOT IN (
        SELECT request_id, tenant, assumeNotNull(withdraws) FROM feedback FINAL
        WHERE withdraws IS NOT NULL AND (request_id, tenant) IN (${compared}))
    GROUP BY request_id, tenant, source, kind, other
  )
SELECT
  ${byTenant === undefined ? "" : "reported.tenant AS tenant,"} decision.chosen AS first, decision.models[indexOf(decision.names, decision.chosen)] AS firstModel,
  decision.contexts[indexOf(decision.names, decision.chosen)] AS firstContext,
  reported.other AS second, decision.models[indexOf(decision.names, reported.other)] AS secondModel,
  decision.contexts[indexOf(decision.names, reported.other)] AS secondContext,
  multiIf(
    reported.kind = 'preference', (least(greatest(reported.latest_value, -1), 1) + 1) / 2,
    abs(reported.latest_value) <= 0.3, 0.5,
    (least(greatest(reported.latest_value, -3), 3) + 3) / 6) AS outcome,
  reported.source_weight AS weight,
  toUnixTimestamp(toStartOfHour(decision.decided_at)) AS hour,
  toUnixTimestamp64Milli(reported.latest_at) AS at
FROM reported
INNER JOIN (
  SELECT request_id, tenant, arm AS chosen, arms.arm AS names, arms.model AS models, arms.context AS contexts, created_at AS decided_at
  FROM decisions FINAL
  WHERE feature_version = {featureVersion:UInt32} AND (request_id, tenant) IN (${compared})
    AND (request_id, tenant) NOT IN (${answeredByAnother} AND (request_id, tenant) IN (${compared}))
) AS decision ON decision.request_id = reported.request_id AND decision.tenant = reported.tenant
WHERE second != first AND has(decision.names, second)
  AND length(firstContext) = {dimension:UInt32} AND length(secondContext) = {dimension:UInt32}
  AND arrayAll(value -> isFinite(value), firstContext) AND arrayAll(value -> isFinite(value), secondContext)
ORDER BY at DESC, reported.request_id, reported.tenant, reported.source, reported.kind, second
${byTenant === undefined ? "" : `LIMIT ${Math.floor(mostPairs / byTenant.mostTenants)} BY reported.tenant`}
LIMIT ${mostPairs}
SETTINGS distributed_product_mode = 'local'`;

/** Newest first; by tenant: an equal number of each. */
export const readPairs = (
  clickhouse: Pick<ClickHouse, "query">,
  layout: { featureVersion: number; dimension: number },
  byTenant?: { mostTenants: number },
): Promise<Pair[]> => clickhouse.query<Pair>(selectPairs(byTenant), layout);
