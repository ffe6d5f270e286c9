// SQL of the helpfulness model's rows: an effect, by one of three kinds of evidence, best first.
// trial: (q - m)(shown - p) / (p (1 - p)), weight 1 / P(arm), m the mean of the arm's other trials
// and one imaginary 1/2 (the router's prediction knows what chance did). direct: the same
// conversation, arm and model, prompts differing in this example: q - q'. observed: q - the
// router's prediction, low weight. Rows of former models weigh less (docs/design/selection.md,
// Training).
import { answeredByAnother } from "./statements.ts";

/** Weights of kinds: comparisons vary half as much as transformed trials. */
const weights = { trial: 1, direct: 2, observed: 0.05, formerModel: 0.25 } as const;
/** 1 / P(arm) at most: rarer arms than that would drown the rest. */
const largestInverse = 10;

const usable = (source: string): string =>
  `${source}.features_version = {featureVersion:UInt32} AND length(${source}.features) = {featureCount:UInt32}
   AND arrayAll(value -> isFinite(value), ${source}.features)`;

const rewarded = `
  SELECT request_id, tenant, reward, least(weight, 1) AS reward_weight, newest_at
  FROM rewards FINAL WHERE weight > 0 AND (request_id, tenant) NOT IN (${answeredByAnother})`;

const currentModels = `
  SELECT arm, argMax(model, created_at) AS model FROM (
    SELECT arm, model, created_at FROM example_uses UNION ALL SELECT arm, model, created_at FROM example_trials
  ) GROUP BY arm`;

const modelWeight = `if((arm, model) IN (current_models), 1, ${weights.formerModel})`;

/** Hash of conversation and domain, to split training from hold-out. */
const conversation = (requests: string): string => `
  SELECT request_id, tenant, cityHash64(domain, messages) AS conversation_hash
  FROM requests FINAL WHERE (request_id, tenant) IN (SELECT request_id, tenant FROM ${requests})`;

const group = "toString(if(conversation_hash = 0, cityHash64(request_id, tenant), conversation_hash)) AS group";
const newest = "toUnixTimestamp64Milli(newest_at) AS newestAt";
const tail = `ORDER BY created_at DESC, request_id, example_id LIMIT {rows:UInt32} SETTINGS distributed_product_mode = 'local'`;

export const selectTrials = `
WITH
  current_models AS (${currentModels}),
  trials AS (
    SELECT * FROM example_trials AS trial FINAL
    WHERE ${usable("trial")} AND probability > 0 AND probability < 1 AND arm_probability > 0
      AND (request_id, tenant) IN (SELECT request_id, tenant FROM rewards FINAL WHERE weight > 0)
    ORDER BY created_at DESC LIMIT {rows:UInt32}
  ),
  rated AS (
    SELECT *,
      sum(reward) OVER (PARTITION BY arm, model) AS total,
      count() OVER (PARTITION BY arm, model) AS trials_of_arm,
      (total - reward + 0.5) / trials_of_arm AS expected
    FROM trials INNER JOIN (${rewarded}) AS rewarded USING (request_id, tenant)
  )
SELECT
  ${group}, features,
  (reward - expected) * (toFloat64(shown) - probability) / (probability * (1 - probability)) AS effect,
  ${weights.trial} * reward_weight * least(1 / arm_probability, ${largestInverse}) * ${modelWeight} AS weight,
  ${newest}
FROM rated LEFT JOIN (${conversation("trials")}) AS question USING (request_id, tenant)
${tail}`;

/** Time of the oldest of the newest {rows} rewarded requests, ms. */
export const selectSince = `
SELECT toUnixTimestamp64Milli(min(created_at)) AS since FROM (
  SELECT created_at FROM decisions FINAL
  WHERE (request_id, tenant) IN (SELECT request_id, tenant FROM rewards FINAL WHERE weight > 0)
  ORDER BY created_at DESC LIMIT {rows:UInt32}
)
SETTINGS distributed_product_mode = 'local'`;

const isRecent = "created_at >= fromUnixTimestamp64Milli({since:Int64})";

/** Rewarded decisions with what the arm that answered was shown, and those uses themselves. */
const recent = `
  answered AS (
    SELECT
      decision.request_id AS request_id, decision.tenant AS tenant, decision.arm AS decided_arm, policy_version,
      decision.arms.model[indexOf(decision.arms.arm, decision.arm)] AS decided_model,
      arraySort(decision.arms.examples[indexOf(decision.arms.arm, decision.arm)].id) AS shown,
      reward, reward_weight, newest_at
    FROM decisions AS decision FINAL INNER JOIN (${rewarded}) AS rewarded USING (request_id, tenant)
    WHERE ${isRecent}
  ),
  asked AS (
    SELECT request_id, tenant, cityHash64(domain, messages) AS conversation_hash FROM requests FINAL
    WHERE (request_id, tenant) IN (SELECT request_id, tenant FROM decisions WHERE ${isRecent})
  ),
  uses AS (
    SELECT request_id, tenant, example_id, arm, model, features, explored, arm_mean, created_at
    FROM example_uses AS use FINAL WHERE ${isRecent} AND ${usable("use")}
  )`;

export const selectDirect = `
WITH
  current_models AS (${currentModels}),
  ${recent},
  rated AS (SELECT * FROM answered INNER JOIN asked USING (request_id, tenant)),
  withouts AS (
    SELECT tenant, decided_arm AS arm, decided_model AS model, conversation_hash, shown AS prompt, avg(reward) AS reward_without
    FROM rated GROUP BY tenant, arm, model, conversation_hash, prompt
  ),
  withs AS (
    SELECT *, arrayFilter(id -> id != example_id, shown) AS prompt
    FROM uses INNER JOIN rated USING (request_id, tenant)
    -- A question that was asked once has nothing to be compared with.
    WHERE conversation_hash IN (SELECT conversation_hash FROM rated GROUP BY conversation_hash HAVING count() > 1)
  )
SELECT
  ${group}, features, reward - reward_without AS effect, ${weights.direct} * reward_weight * ${modelWeight} AS weight, ${newest}
FROM withs INNER JOIN withouts USING (tenant, arm, model, conversation_hash, prompt)
${tail}`;

/** Only where the router had learnt something, and without trials' forced examples. */
export const selectObserved = `
WITH
  current_models AS (${currentModels}),
  ${recent}
SELECT
  ${group}, features, reward - least(greatest(arm_mean, 0), 1) AS effect,
  ${weights.observed} * reward_weight / greatest(length(shown), 1) * ${modelWeight} AS weight, ${newest}
FROM uses INNER JOIN answered USING (request_id, tenant) LEFT JOIN asked USING (request_id, tenant)
WHERE NOT explored AND isFinite(arm_mean) AND policy_version > 0
${tail}`;
