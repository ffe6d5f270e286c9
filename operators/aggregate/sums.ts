// SQL of the sums: by arm, model and hour (arm_hours), by tenant (tenant_arm_hours) or domain
// (domain_arm_hours). Recomputed, never incremented.
import { answeredByAnother, inHours, nextVersion } from "./statements.ts";

/** x of the chosen arm, and which bucket a decision falls into. */
const chosen = `
  arms.model[indexOf(arms.arm, arm)] AS chosen_model,
  arms.context[indexOf(arms.arm, arm)] AS x,
  toUnixTimestamp(toStartOfHour(created_at)) AS hour`;

const weightAt = (newest: string): string => `exp2(-dateDiff('hour', hour, ${newest}) / {halfLifeHours:Float64})`;

export interface Sums {
  /** Buckets of decisions on the requests of `touched`. tenant: empty over all tenants. */
  selectDirty(touched: string): string;
  /**
   * Recomputes the buckets of the parameters, hours in [firstHour, lastHour]. Empty ones become
   * zeros. Decisions without a usable context are left out.
   */
  insert: string;
  /**
   * Sums of each arm and model, hours weighted by 2^(-age / half-life) back from the newest
   * rewarded hour; by tenant: of the mostTenants with the most recent rewards.
   */
  selectStatistics: string;
}

/** The buckets, and `decided` and `rewarded`: what counts in their hours. */
const rewardedIn = (byTenant: boolean): string => `buckets AS (
    SELECT ${byTenant ? "bucket.4 AS tenant, " : ""}bucket.1 AS arm, bucket.2 AS model, bucket.3 AS hour FROM (
      SELECT arrayJoin(arrayZip(
        {arms:Array(String)}, {models:Array(String)}, {hours:Array(UInt32)}, {tenants:Array(String)})) AS bucket
    )
  ),
  decided AS (
    SELECT request_id, tenant, domain, arm AS chosen_arm, ${chosen} FROM decisions FINAL
    WHERE feature_version = {featureVersion:UInt32}
      AND ${inHours}
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
      WHERE ${inHours}
    )
  ),`;

export function sumsOf(byTenant: boolean): Sums {
  const table = byTenant ? "tenant_arm_hours" : "arm_hours";
  const key = byTenant ? "tenant, " : "";
  return {
    selectDirty: (touched) => `
WITH touched AS (${touched})
SELECT DISTINCT decided_tenant AS tenant, chosen_arm AS arm, chosen_model AS model, hour FROM (
  SELECT ${byTenant ? "tenant" : "''"} AS decided_tenant, arm AS chosen_arm, ${chosen} FROM decisions FINAL
  WHERE feature_version = {featureVersion:UInt32} AND (request_id, tenant) IN (touched)
)
ORDER BY hour, arm, model, tenant
SETTINGS distributed_product_mode = 'local'`,
    insert: `
INSERT INTO ${table} (${key}arm, model, hour, feature_version, a, b, weight, reward_sum, reward_squares, rewards, newest_at, version)
WITH
  ${rewardedIn(byTenant)}
  sums AS (
    SELECT
      ${key}chosen_arm AS arm, chosen_model AS model, hour,
      sumForEach(arrayFlatten(arrayMap(
        (value, row) -> arrayMap(other -> weight * value * other, arraySlice(x, 1, row)), x, arrayEnumerate(x)))) AS a,
      sumForEach(arrayMap(value -> weight * reward * value, x)) AS b,
      sum(weight) AS total_weight,
      sum(weight * reward) AS reward_sum,
      sum(weight * reward * reward) AS reward_squares,
      count() AS rewards,
      max(newest_at) AS newest
    FROM decided INNER JOIN rewarded USING (request_id, tenant)
    WHERE (${key}chosen_arm, chosen_model, hour) IN (SELECT ${key}arm, model, hour FROM buckets)
    GROUP BY ${key}chosen_arm, chosen_model, hour
  )
SELECT
  ${byTenant ? "buckets.tenant, " : ""}buckets.arm, buckets.model, toDateTime(buckets.hour, 'UTC'), {featureVersion:UInt32},
  sums.a, sums.b, sums.total_weight, sums.reward_sum, sums.reward_squares, sums.rewards, sums.newest,
  ${nextVersion(table)}
FROM buckets LEFT JOIN sums USING (${key}arm, model, hour)
SETTINGS distributed_product_mode = 'local'`,
    selectStatistics: `
WITH
  kept AS (SELECT * FROM ${table} FINAL WHERE feature_version = {featureVersion:UInt32} AND rewards > 0),
  (SELECT max(hour) FROM kept) AS newest_hour
SELECT
  ${key}arm, model,
  sumForEach(arrayMap(value -> decay * value, a)) AS sum_a,
  sumForEach(arrayMap(value -> decay * value, b)) AS sum_b,
  sum(decay * weight) AS sum_weight,
  sum(decay * reward_sum) AS sum_reward,
  sum(decay * reward_squares) AS sum_squares,
  sum(rewards) AS count,
  toUnixTimestamp(max(hour)) AS last_hour,
  toUnixTimestamp64Milli(max(newest_at)) AS newest
FROM (${byTenant ? decayedOfTenants : decayed})
GROUP BY ${key}arm, model
ORDER BY ${key}arm, model`,
  };
}

const decayed = `SELECT *, ${weightAt("newest_hour")} AS decay FROM kept`;

/** By the tenant's own newest hour: another tenant's rewards must not age it. */
const decayedOfTenants = `
  SELECT *, ${weightAt("max(hour) OVER (PARTITION BY tenant)")} AS decay FROM kept
  WHERE tenant IN (
    SELECT tenant FROM kept GROUP BY tenant
    ORDER BY sum(weight * ${weightAt("newest_hour")}) DESC, tenant LIMIT {mostTenants:UInt32})`;

/** Buckets of arm_hours by domain; empty ones become rows of zeros. */
export const insertDomains = `
INSERT INTO domain_arm_hours (domain, arm, model, hour, feature_version, x, weight, reward_sum, version)
WITH
  ${rewardedIn(false)}
  sums AS (
    SELECT
      domain, chosen_arm AS arm, chosen_model AS model, hour,
      sumForEach(arrayMap(value -> weight * value, x)) AS total,
      sum(weight) AS total_weight,
      sum(weight * reward) AS reward_sum
    FROM decided INNER JOIN rewarded USING (request_id, tenant)
    WHERE (chosen_arm, chosen_model, hour) IN (SELECT arm, model, hour FROM buckets)
    GROUP BY domain, chosen_arm, chosen_model, hour
  ),
  before AS (
    SELECT domain, arm, model, toUnixTimestamp(domain_arm_hours.hour) AS hour FROM domain_arm_hours
    WHERE feature_version = {featureVersion:UInt32} AND weight > 0
      AND domain_arm_hours.hour >= toDateTime({firstHour:UInt32}, 'UTC')
      AND domain_arm_hours.hour <= toDateTime({lastHour:UInt32}, 'UTC')
  )
SELECT domain, arm, model, toDateTime(hour, 'UTC'), {featureVersion:UInt32}, total, total_weight, reward_sum,
  ${nextVersion("domain_arm_hours")}
FROM (
  SELECT domain, arm, model, hour, total, total_weight, reward_sum FROM sums
  UNION ALL
  SELECT DISTINCT domain, arm, model, hour, [] AS total, 0 AS total_weight, 0 AS reward_sum FROM before
  WHERE (arm, model, hour) IN (SELECT arm, model, hour FROM buckets)
    AND (domain, arm, model, hour) NOT IN (SELECT domain, arm, model, hour FROM sums)
)
SETTINGS distributed_product_mode = 'local'`;

/** Sums of each arm and model in the mostDomains domains with the most recent rewards. */
export const selectDomains = `
WITH
  (SELECT max(hour) FROM arm_hours FINAL WHERE feature_version = {featureVersion:UInt32} AND rewards > 0) AS newest_hour,
  kept AS (
    SELECT *, ${weightAt("newest_hour")} AS decay FROM domain_arm_hours FINAL
    WHERE feature_version = {featureVersion:UInt32} AND weight > 0
  )
SELECT domain, arm, model,
  sumForEach(arrayMap(value -> decay * value, x)) AS sum_x,
  sum(decay * weight) AS sum_weight,
  sum(decay * reward_sum) AS sum_reward
FROM kept
WHERE domain IN (
  SELECT domain FROM kept GROUP BY domain ORDER BY sum(decay * weight) DESC, domain LIMIT {mostDomains:UInt32})
GROUP BY domain, arm, model
ORDER BY domain, arm, model`;
