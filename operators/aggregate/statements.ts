// The SQL of aggregate. Everything is recomputed from the base tables for what changed; nothing is
// ever incremented. Parameters are bound by ClickHouse: {from:Map(...)} and {to:Map(...)} bound the
// offsets [from, to) of each partition of a topic.

import { sourceCounts, withWithdrawals } from "../counting.ts";

/** Weight of one feedback by who gave it. A source that is not here does not count. */
const sourceWeights = { person: 1, system: 1, judge: 0.3 } as const;

/** Of a row of feedback. */
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

/** Above every version that is there, so that a clock set back does no harm. */
export const nextVersion = (table: string): string =>
  `greatest(toUInt64(toUnixTimestamp64Micro(now64(6))), assumeNotNull((SELECT max(version) + 1 FROM ${table})))`;

/** Requests with new feedback. */
export const withFeedback = `SELECT request_id, tenant FROM feedback WHERE ${inRange("feedback")}`;

/**
 * What one feedback says of its answer, NULL where it says nothing in [0, 1]: pairwise kinds, no
 * value, a score without a range.
 */
const points = `
  multiIf(
    kind = 'correction', 0.,
    value IS NULL OR NOT isFinite(value), NULL,
    kind = 'thumbs', (value + 1) / 2,
    kind = 'reward', value,
    kind = 'score', (value - range_low) / nullIf(range_high - range_low, 0),
    NULL)`;

/**
 * rewards of every request of `changed`, a subquery. Newest per source and kind by its own time
 * (late ones do not displace newer ones), then by offset. A withdrawal takes its target away
 * whichever of them came first, and only on the same request; withdrawing a withdrawal gives
 * nothing back. What is of a withdrawn source, or above the limits of its hour, does not count.
 */
export const insertRewards = (changed: string): string => `
INSERT INTO rewards (request_id, tenant, reward, weight, counted, received, newest_at, version)
WITH
  changed AS (${changed}),
  opinions AS (
    WITH ${withWithdrawals}
    SELECT
      request_id, tenant, source, kind, created_at, kafka_offset, feedback_id,
      ${points} AS points,
      ${sourceWeight} AS source_weight,
      ifNull(isFinite(points), 0) AND source_weight > 0 AND (request_id, tenant, feedback_id) NOT IN (
        SELECT request_id, tenant, assumeNotNull(withdraws) FROM feedback FINAL
        WHERE withdraws IS NOT NULL AND (request_id, tenant) IN (changed)
      ) AND ${sourceCounts("changed")} AS counts
    FROM feedback FINAL
    WHERE (request_id, tenant) IN (changed)
  ),
  newest AS (
    SELECT
      request_id, tenant, source, kind,
      argMaxIf(least(greatest(ifNull(points, 0), 0), 1), (created_at, kafka_offset, feedback_id), counts) AS value,
      maxIf(source_weight, counts) AS value_weight,
      maxIf(created_at, counts) AS counted_at,
      max(created_at) AS any_at,
      count() AS received_here
    FROM opinions
    GROUP BY request_id, tenant, source, kind
  )
SELECT
  request_id, tenant,
  if(sum(value_weight) > 0, sum(value_weight * value) / sum(value_weight), 0),
  sum(value_weight),
  countIf(value_weight > 0),
  sum(received_here),
  if(sum(value_weight) > 0, max(counted_at), max(any_at)),
  ${nextVersion("rewards")}
FROM newest
GROUP BY request_id, tenant
SETTINGS distributed_product_mode = 'local'`;

/**
 * Requests that another arm answered than the one decided on: their rewards say nothing of it, and
 * no probability is logged with which the other one was chosen. Left out of what is learnt.
 */
export const answeredByAnother = "SELECT request_id, tenant FROM responses WHERE notEmpty(failed_arms)";

/** x of the chosen arm, and which bucket a decision falls into. */
const chosen = `
  arms.model[indexOf(arms.arm, arm)] AS chosen_model,
  arms.context[indexOf(arms.arm, arm)] AS x,
  toUnixTimestamp(toStartOfHour(created_at)) AS hour`;

/**
 * New decisions on which there is a reward already, and rewarded ones that turn out to be answered
 * by another arm: a feedback that comes before its decision waits in rewards and is found here.
 */
export const rewardedBefore = `
  SELECT request_id, tenant FROM rewards
  WHERE (request_id, tenant) IN (SELECT request_id, tenant FROM decisions WHERE ${inRange("decisions")})
  UNION DISTINCT
  SELECT request_id, tenant FROM rewards
  WHERE (request_id, tenant) IN (${answeredByAnother} AND ${inRange("responses")})`;

/** Buckets of decisions whose reward may have changed: those on the requests of `touched`. */
export const selectDirty = (touched: string): string => `
WITH touched AS (${touched})
SELECT DISTINCT chosen_arm AS arm, chosen_model AS model, hour FROM (
  SELECT arm AS chosen_arm, ${chosen} FROM decisions FINAL
  WHERE feature_version = {featureVersion:UInt32} AND (request_id, tenant) IN (touched)
)
ORDER BY hour, arm, model
SETTINGS distributed_product_mode = 'local'`;

/**
 * arm_hours of the buckets zipped from three parameters, all of whose hours lie in
 * [firstHour, lastHour]. A bucket in which nothing is left becomes a row of zeros, which takes the
 * place of what was there. Decisions without a usable context are left out.
 */
export const insertArmHours = `
INSERT INTO arm_hours (arm, model, hour, feature_version, a, b, weight, reward_sum, reward_squares, rewards, newest_at, version)
WITH
  buckets AS (
    SELECT bucket.1 AS arm, bucket.2 AS model, bucket.3 AS hour FROM (
      SELECT arrayJoin(arrayZip({arms:Array(String)}, {models:Array(String)}, {hours:Array(UInt32)})) AS bucket
    )
  ),
  decided AS (
    SELECT request_id, tenant, arm AS chosen_arm, ${chosen} FROM decisions FINAL
    WHERE feature_version = {featureVersion:UInt32}
      AND created_at >= toDateTime({firstHour:UInt32}, 'UTC') AND created_at < toDateTime({lastHour:UInt32}, 'UTC') + INTERVAL 1 HOUR
      AND length(x) = {dimension:UInt32} AND arrayAll(value -> isFinite(value), x)
      -- A response comes within a day, the longest deadline there is.
      AND (request_id, tenant) NOT IN (
        ${answeredByAnother}
          AND created_at >= toDateTime({firstHour:UInt32}, 'UTC') - INTERVAL 1 HOUR
          AND created_at < toDateTime({lastHour:UInt32}, 'UTC') + INTERVAL 26 HOUR)
  ),
  rewarded AS (
    SELECT request_id, tenant, reward, weight, newest_at FROM rewards FINAL
    WHERE weight > 0 AND (request_id, tenant) IN (
      SELECT request_id, tenant FROM decisions
      WHERE created_at >= toDateTime({firstHour:UInt32}, 'UTC') AND created_at < toDateTime({lastHour:UInt32}, 'UTC') + INTERVAL 1 HOUR
    )
  ),
  sums AS (
    SELECT
      chosen_arm AS arm, chosen_model AS model, hour,
      sumForEach(arrayFlatten(arrayMap(
        (value, row) -> arrayMap(other -> weight * value * other, arraySlice(x, 1, row)), x, arrayEnumerate(x)))) AS a,
      sumForEach(arrayMap(value -> weight * reward * value, x)) AS b,
      sum(weight) AS total_weight,
      sum(weight * reward) AS reward_sum,
      sum(weight * reward * reward) AS reward_squares,
      count() AS rewards,
      max(newest_at) AS newest
    FROM decided INNER JOIN rewarded USING (request_id, tenant)
    WHERE (chosen_arm, chosen_model, hour) IN (SELECT arm, model, hour FROM buckets)
    GROUP BY chosen_arm, chosen_model, hour
  )
SELECT
  buckets.arm, buckets.model, toDateTime(buckets.hour, 'UTC'), {featureVersion:UInt32},
  sums.a, sums.b, sums.total_weight, sums.reward_sum, sums.reward_squares, sums.rewards, sums.newest,
  ${nextVersion("arm_hours")}
FROM buckets LEFT JOIN sums USING (arm, model, hour)
SETTINGS distributed_product_mode = 'local'`;

/**
 * Everything that is known of each arm and model, hours weighted by 2^(-age / half-life); age
 * counts back from the newest hour with a reward.
 */
export const selectStatistics = `
WITH
  kept AS (SELECT * FROM arm_hours FINAL WHERE feature_version = {featureVersion:UInt32} AND rewards > 0),
  (SELECT max(hour) FROM kept) AS newest_hour
SELECT
  arm, model,
  sumForEach(arrayMap(value -> decay * value, a)) AS sum_a,
  sumForEach(arrayMap(value -> decay * value, b)) AS sum_b,
  sum(decay * weight) AS sum_weight,
  sum(decay * reward_sum) AS sum_reward,
  sum(decay * reward_squares) AS sum_squares,
  sum(rewards) AS count,
  toUnixTimestamp(max(hour)) AS last_hour,
  toUnixTimestamp64Milli(max(newest_at)) AS newest
FROM (SELECT *, exp2(-dateDiff('hour', hour, newest_hour) / {halfLifeHours:Float64}) AS decay FROM kept)
GROUP BY arm, model
ORDER BY arm, model`;

/** Rewards that were recomputed to nothing since then, in microseconds. */
export const selectTakenBack = `
SELECT 1 FROM rewards FINAL WHERE weight = 0 AND received > 0 AND version > {since:UInt64} LIMIT 1`;

/**
 * How far record is, and how far this reader: [next, end) of every partition is new. Each origin
 * (cluster and topic id) has offsets and positions of its own, these under
 * positionName(topic, origin): those of a topic that was made again say nothing of the one before
 * it. All tables in one statement: it is asked every few seconds, mostly for nothing.
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
