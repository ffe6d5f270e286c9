// SQL of aggregate: recomputed from base tables for what changed, never incremented.
// {from:Map(...)}, {to:Map(...)}: offsets [from, to) of each partition.

import { sourceCounts, withWithdrawals } from "../counting.ts";

/** Weight of one feedback by who gave it. A source that is not here does not count. */
const sourceWeights = { person: 1, system: 1, judge: 0.3 } as const;

export const sourceWeight = `multiIf(${Object.entries(sourceWeights)
  .map(([source, weight]) => `source = '${source}', ${weight.toFixed(1)}`)
  .join(", ")}, 0.)`;

/** Tables of which learn takes what is new. */
export type Table = "feedback" | "decisions" | "responses" | "withdrawals";

/** Rows of `table` whose offsets are new, of the topic in the parameter `topicParameter`. */
export const inRange = (table: Table): string => `
  topic = {${table}Topic:String} AND kafka_origin = {${table}Origin:String}
  AND kafka_offset >= {${table}From:Map(Int32, UInt64)}[kafka_partition]
  AND kafka_offset < {${table}To:Map(Int32, UInt64)}[kafka_partition]`;

/** Rows of the hours in [firstHour, lastHour], parameters in seconds since the epoch. */
export const inHours =
  "created_at >= toDateTime({firstHour:UInt32}, 'UTC') AND created_at < toDateTime({lastHour:UInt32}, 'UTC') + INTERVAL 1 HOUR";

/** Above every version that is there, so that a clock set back does no harm. */
export const nextVersion = (table: string): string =>
  `greatest(toUInt64(toUnixTimestamp64Micro(now64(6))), assumeNotNull((SELECT max(version) + 1 FROM ${table})))`;

export const withFeedback = `SELECT request_id, tenant FROM feedback WHERE ${inRange("feedback")}`;

/** Value in [0, 1] of a feedback; NULL: pairwise, no value, or a score without range. */
const points = `
  multiIf(
    kind = 'correction', 0.,
    value IS NULL OR NOT isFinite(value), NULL,
    kind = 'thumbs', (value + 1) / 2,
    kind = 'reward', value,
    kind = 'score', (value - range_low) / nullIf(range_high - range_low, 0),
    NULL)`;

/**
 * rewards of every request of `changed`, a subquery. Newest per source and kind by its own time,
 * then offset. An outcome shared over a session counts beside the request's own rating, with its
 * weight divided by the session's requests. Withdrawals act in any order, on the same request only.
 */
export const insertRewards = (changed: string): string => `
INSERT INTO rewards (request_id, tenant, reward, weight, of_session, counted, received, newest_at, arm, domain, account, policy_version, version)
WITH
  changed AS (${changed}),
  opinions AS (
    WITH ${withWithdrawals}
    SELECT
      request_id, tenant, source, kind, created_at, kafka_offset, feedback_id,
      ${points} AS points,
      session_requests > 1 AS is_shared,
      ${sourceWeight} / session_requests AS source_weight,
      ifNull(isFinite(points), 0) AND source_weight > 0 AND (request_id, tenant, feedback_id) NOT IN (
        SELECT request_id, tenant, assumeNotNull(withdraws) FROM feedback FINAL
        WHERE withdraws IS NOT NULL AND (request_id, tenant) IN (changed)
      ) AND ${sourceCounts("changed")} AS counts
    FROM feedback FINAL
    WHERE (request_id, tenant) IN (changed)
  ),
  newest AS (
    SELECT
      request_id, tenant, source, kind, is_shared,
      argMaxIf(least(greatest(ifNull(points, 0), 0), 1), (created_at, kafka_offset, feedback_id), counts) AS value,
      argMaxIf(source_weight, (created_at, kafka_offset, feedback_id), counts) AS value_weight,
      maxIf(created_at, counts) AS counted_at,
      max(created_at) AS any_at,
      count() AS received_here
    FROM opinions
    GROUP BY request_id, tenant, source, kind, is_shared
  ),
  reduced AS (
    SELECT
      request_id, tenant,
      if(sum(value_weight) > 0, sum(value_weight * value) / sum(value_weight), 0) AS reward,
      sum(value_weight) AS weight,
      weight > 0 AND countIf(value_weight > 0 AND NOT is_shared) = 0 AS of_session,
      countIf(value_weight > 0) AS counted,
      sum(received_here) AS received,
      if(sum(value_weight) > 0, max(counted_at), max(any_at)) AS newest_at
    FROM newest
    GROUP BY request_id, tenant
  ),
  answered AS (
    SELECT request_id, tenant, ifNull(arm, '') AS arm, domain, account FROM responses FINAL
    WHERE (request_id, tenant) IN (changed) AND NOT duplicate
  ),
  decided AS (
    SELECT request_id, tenant, policy_version FROM decisions FINAL
    WHERE (request_id, tenant) IN (changed) AND source = 'routed'
  )
SELECT
  reduced.request_id, reduced.tenant, reward, weight, of_session, counted, received, newest_at,
  answered.arm, answered.domain, answered.account, decided.policy_version, ${nextVersion("rewards")}
FROM reduced
LEFT JOIN answered ON answered.request_id = reduced.request_id AND answered.tenant = reduced.tenant
LEFT JOIN decided ON decided.request_id = reduced.request_id AND decided.tenant = reduced.tenant
SETTINGS distributed_product_mode = 'local'`;

/** Rewards whose answer has been recorded since. */
export const answeredLate = `SELECT request_id, tenant FROM rewards FINAL
  WHERE domain = '' AND (request_id, tenant) IN (SELECT request_id, tenant FROM responses WHERE ${inRange("responses")} AND domain != '')`;

/** Requests that another arm answered: they say nothing of the chosen one. */
export const answeredByAnother = "SELECT request_id, tenant FROM responses WHERE notEmpty(failed_arms)";

/** New decisions with a reward, and rewarded ones that another arm answered. */
export const rewardedBefore = `
  SELECT request_id, tenant FROM rewards
  WHERE (request_id, tenant) IN (SELECT request_id, tenant FROM decisions WHERE ${inRange("decisions")})
  UNION DISTINCT
  SELECT request_id, tenant FROM rewards
  WHERE (request_id, tenant) IN (${answeredByAnother} AND ${inRange("responses")})`;

/** Rewards that were recomputed to nothing since then, in microseconds. */
export const selectTakenBack = `
SELECT 1 FROM rewards FINAL WHERE weight = 0 AND received > 0 AND version > {since:UInt64} LIMIT 1`;

/**
 * [next, end) of every partition is new: how far record is, and this reader. Each origin has
 * positions of its own, positionName(topic, origin). One statement for all tables.
 */
export const selectRanges = (tables: readonly Table[]): string => `
SELECT stored.table AS table, stored.origin AS origin, stored.kafka_partition AS partition,
  greatest(seen.next_offset, stored.first) AS next, stored.end AS end
FROM (${tables.map(storedOf).join("  UNION ALL")}) AS stored
LEFT JOIN (
  SELECT topic AS name, kafka_partition, next_offset FROM learn_positions FINAL WHERE reader = {reader:String}
) AS seen USING (name, kafka_partition)
WHERE end > next
ORDER BY table, origin, partition`;

const storedOf = (table: Table): string => `
  SELECT '${table}' AS table, toString(kafka_origin) AS origin, kafka_partition,
    if(origin = '', {${table}Topic:String}, concat({${table}Topic:String}, '@', origin)) AS name,
    min(kafka_offset) AS first, max(kafka_offset) + 1 AS end
  FROM ${table} WHERE topic = {${table}Topic:String} GROUP BY kafka_origin, kafka_partition
`;
