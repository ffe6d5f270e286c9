// SQL that reads decisions. A page is a class of request ids' hash: pages are fair samples.

/** Why a decision says nothing of other policies, in the order in which they count. */
export const leftOutReasons = {
  cached: "answered from the response cache, where no arm is chosen",
  degraded: "the router was bypassed: policy or features could not be used",
  other_features: "made by a version of Precedent whose router saw other features",
  no_propensity: "without a usable logged probability",
  failed: "no answer: the arm failed",
  other_arm: "answered by another arm than the decision's",
  feedback_missing: "without feedback that counts",
  not_allowed: "the target's arm was not allowed",
} as const;
export type LeftOut = keyof typeof leftOutReasons;

/** With pages = 1 and page = 0 everything. */
const inPage = "cityHash64(request_id) % {pages:UInt32} = {page:UInt32}";

/** Decisions of the window with reward and reason; reason = '': usable. */
const reasoned = `
  SELECT
    decision.request_id AS request_id, decision.tenant AS tenant, decision.domain AS domain,
    toUnixTimestamp64Milli(decision.created_at) AS decided_at,
    decision.arm AS chosen, decision.arms AS arms,
    indexOf(decision.arms.arm, decision.arm) AS arm_index,
    rewarded.reward AS reward, rewarded.weight > 0 AS has_reward,
    ifNull(decision.ask_probability, 0) AS ask_probability, decision.asked AS asked,
    multiIf(
      decision.source = 'cache', 'cached',
      hasAny(decision.degraded, ['policy', 'features']), 'degraded',
      decision.feature_version != {featureVersion:UInt32}
        OR NOT arrayAll(x -> length(x) = {dimension:UInt32} AND arrayAll(value -> isFinite(value), x), decision.arms.context), 'other_features',
      arm_index = 0 OR NOT (decision.arms.probability[arm_index] > 0 AND decision.arms.probability[arm_index] <= 1), 'no_propensity',
      response.request_id != '' AND response.status != 'ok', 'failed',
      response.request_id != '' AND ifNull(response.arm, '') != decision.arm, 'other_arm',
      NOT has_reward, 'feedback_missing',
      '') AS reason
  FROM (
    SELECT request_id, tenant, domain, created_at, source, arm, arms, degraded, feature_version, asked, ask_probability FROM decisions FINAL
    WHERE created_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') AND created_at < fromUnixTimestamp64Milli({until:Int64}, 'UTC')
      AND ({domain:String} = '' OR domain = {domain:String}) AND ${inPage}
  ) AS decision
  LEFT JOIN (SELECT request_id, tenant, reward, weight FROM rewards FINAL WHERE weight > 0 AND ${inPage}) AS rewarded
    ON rewarded.request_id = decision.request_id AND rewarded.tenant = decision.tenant
  LEFT JOIN (SELECT request_id, tenant, arm, status FROM responses FINAL WHERE NOT duplicate AND ${inPage}) AS response
    ON response.request_id = decision.request_id AND response.tenant = decision.tenant`;

const settings = "SETTINGS distributed_product_mode = 'local'";

/** How many decisions there are, and how many are left out for which reason. */
export const selectReasons = `SELECT reason, count() AS decisions FROM (${reasoned}) GROUP BY reason ${settings}`;

/** Who gets feedback: by arm, length (component 3 of x), domain, asking; largest first. */
export const selectCells = `
SELECT chosen AS arm, toInt32(least(7, greatest(0, floor(arms.context[arm_index][3] * 8)))) AS length, domain,
       multiIf(NOT ask_probability > 0, 'never', asked, 'asked', 'unasked') AS asking,
       count() AS decisions, countIf(reason = '') AS rewarded
FROM (${reasoned}) WHERE reason IN ('', 'feedback_missing')
GROUP BY arm, length, domain, asking ORDER BY decisions DESC, arm, length, domain, asking LIMIT 20000 ${settings}`;

/** Decisions of a page, by hash. {unheard:Bool}: without feedback; {never:Bool}: never asked. */
export const selectPage = `
SELECT request_id, tenant, domain, decided_at, toUInt32(arm_index - 1) AS chosen, if(reason = '', toNullable(reward), NULL) AS reward,
       arms.arm AS arm, arms.model AS model, arms.cost AS cost, arms.context AS context, arms.bias AS bias,
       arms.probability AS probability, ask_probability
FROM (${reasoned}) WHERE reason = '' OR ({unheard:Bool} AND reason = 'feedback_missing' AND ({never:Bool} OR ask_probability > 0))
ORDER BY cityHash64(request_id), request_id, tenant ${settings}`;
