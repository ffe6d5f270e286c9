-- Off-policy evaluation (docs/off-policy.md): what other policies would have earned on the logged decisions.

-- What `precedent policy evaluate --save` computed: a decision under a target policy. Written once for each evaluation, never changed.
CREATE TABLE IF NOT EXISTS {table:policy_terms} {on_cluster}
(
    evaluation String COMMENT 'Id of the evaluation' CODEC(ZSTD(1)),
    policy LowCardinality(String) COMMENT 'The target: router@12, small, logged, a file',
    request_id String CODEC(ZSTD(1)),
    tenant LowCardinality(String),
    domain LowCardinality(String) COMMENT 'Sharing domain, tenant/domain',
    arm LowCardinality(String) COMMENT 'The one that was chosen',
    logged Float64 COMMENT 'Probability with which it was chosen',
    target Float64 COMMENT 'Probability with which the target chooses it',
    unsupported Float64 COMMENT 'Probability that the target gives to arms without a logged one',
    utility Nullable(Float64) COMMENT 'Reward less the cost weight times the cost of the arm; NULL without feedback',
    feedback_weight Float64 COMMENT '1 / probability of feedback, 0 without; 1 where that is not corrected',
    direct Nullable(Float64) COMMENT 'Utility that the reward model expects under the target',
    predicted Nullable(Float64) COMMENT 'Utility that it expects of the chosen arm',
    cap Float64 COMMENT 'Weights are clipped at it',
    decided_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    evaluated_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:evaluated_at}
PARTITION BY toYYYYMM(evaluated_at)
ORDER BY (evaluation, policy, request_id, tenant)
{ttl:evaluated_at};

{distributed:policy_terms:cityHash64(request_id)};

-- The estimators over saved terms, with 95 % intervals: of ips, dr and switch_dr by the sample variance of their terms, of snips by the
-- delta method. dm has none: its error is that of the reward model. NULL where the evaluation had no reward model.
CREATE OR REPLACE VIEW {database}.policy_value_domains {on_cluster} AS
SELECT
    evaluation, policy, domain, decisions, evaluated_at, ips, snips, dm, dr, switch_dr, effective, largest_weight, clipped, unsupported,
    1.959963984540054 * ips_deviation / sqrt(decisions) AS ips_reach,
    1.959963984540054 * sqrt(greatest(0, square_terms - 2 * snips * square_weights_utility + snips * snips * square_weights)
        * decisions / (decisions - 1)) / weights AS snips_reach,
    1.959963984540054 * dr_deviation / sqrt(decisions) AS dr_reach,
    1.959963984540054 * switch_dr_deviation / sqrt(decisions) AS switch_dr_reach
FROM
(
    SELECT
        evaluation, policy, domain, count() AS decisions, max(evaluated_at) AS evaluated_at,
        sum(weight) AS weights,
        avg(weight * heard) AS ips, stddevSampStable(weight * heard) AS ips_deviation,
        sum(weight * heard) / nullIf(weights, 0) AS snips,
        sum(weight * weight * heard * heard) AS square_terms,
        sum(weight * weight * heard) AS square_weights_utility,
        sum(weight * weight) AS square_weights,
        avg(direct) AS dm,
        avg(direct + weight * (heard - predicted)) AS dr,
        stddevSampStable(direct + weight * (heard - predicted)) AS dr_deviation,
        avg(direct + switched * (heard - predicted)) AS switch_dr,
        stddevSampStable(direct + switched * (heard - predicted)) AS switch_dr_deviation,
        pow(sum(raw), 2) / nullIf(sum(raw * raw), 0) AS effective,
        max(raw) AS largest_weight, avg(raw > cap) AS clipped, avg(unsupported) AS unsupported
    FROM
    (
        SELECT
            evaluation, policy, domain, evaluated_at, cap, unsupported, direct, predicted,
            ifNull(utility, 0) AS heard,
            target / logged AS raw,
            feedback_weight * least(raw, cap) AS weight,
            feedback_weight * if(raw <= cap, raw, 0) AS switched
        FROM {database}.policy_terms FINAL
    )
    GROUP BY evaluation, policy, domain
)
{colocated};

CREATE OR REPLACE VIEW {database}.policy_value_evaluations {on_cluster} AS
SELECT
    evaluation, policy, decisions, evaluated_at, ips, snips, dm, dr, switch_dr, effective, largest_weight, clipped, unsupported,
    1.959963984540054 * ips_deviation / sqrt(decisions) AS ips_reach,
    1.959963984540054 * sqrt(greatest(0, square_terms - 2 * snips * square_weights_utility + snips * snips * square_weights)
        * decisions / (decisions - 1)) / weights AS snips_reach,
    1.959963984540054 * dr_deviation / sqrt(decisions) AS dr_reach,
    1.959963984540054 * switch_dr_deviation / sqrt(decisions) AS switch_dr_reach
FROM
(
    SELECT
        evaluation, policy, count() AS decisions, max(evaluated_at) AS evaluated_at,
        sum(weight) AS weights,
        avg(weight * heard) AS ips, stddevSampStable(weight * heard) AS ips_deviation,
        sum(weight * heard) / nullIf(weights, 0) AS snips,
        sum(weight * weight * heard * heard) AS square_terms,
        sum(weight * weight * heard) AS square_weights_utility,
        sum(weight * weight) AS square_weights,
        avg(direct) AS dm,
        avg(direct + weight * (heard - predicted)) AS dr,
        stddevSampStable(direct + weight * (heard - predicted)) AS dr_deviation,
        avg(direct + switched * (heard - predicted)) AS switch_dr,
        stddevSampStable(direct + switched * (heard - predicted)) AS switch_dr_deviation,
        pow(sum(raw), 2) / nullIf(sum(raw * raw), 0) AS effective,
        max(raw) AS largest_weight, avg(raw > cap) AS clipped, avg(unsupported) AS unsupported
    FROM
    (
        SELECT
            evaluation, policy, evaluated_at, cap, unsupported, direct, predicted,
            ifNull(utility, 0) AS heard,
            target / logged AS raw,
            feedback_weight * least(raw, cap) AS weight,
            feedback_weight * if(raw <= cap, raw, 0) AS switched
        FROM {database}.policy_terms FINAL
    )
    GROUP BY evaluation, policy
)
{colocated};

-- What always taking one arm would have earned, over the rewarded decisions of the last two weeks on which it was allowed. Weights are
-- clipped at 100. No run of anything is needed.
CREATE OR REPLACE VIEW {database}.policy_value_arms {on_cluster} AS
SELECT
    arm, decisions, ips, snips, effective, largest_weight, unsupported,
    1.959963984540054 * sqrt(greatest(0, square_terms - 2 * snips * square_weights_reward + snips * snips * square_weights)
        * decisions / (decisions - 1)) / weights AS snips_reach
FROM
(
    SELECT
        arm, count() AS decisions,
        sum(weight) AS weights,
        avg(weight * reward) AS ips,
        sum(weight * reward) / nullIf(weights, 0) AS snips,
        sum(weight * weight * reward * reward) AS square_terms,
        sum(weight * weight * reward) AS square_weights_reward,
        sum(weight * weight) AS square_weights,
        pow(sum(weight), 2) / nullIf(sum(weight * weight), 0) AS effective,
        max(weight) AS largest_weight,
        avg(arm_probability < 1e-9) AS unsupported
    FROM
    (
        SELECT
            score.1 AS arm, score.2 AS arm_probability, rewarded.reward AS reward,
            if(score.1 = decision.arm, least(100, 1 / decision.probability), 0) AS weight
        FROM
            (
                SELECT request_id, tenant, arm, probability, arrayJoin(arrayZip(arms.arm, arms.probability)) AS score
                FROM {database}.decisions FINAL
                WHERE created_at > now() - INTERVAL 2 WEEK AND probability > 0 AND NOT hasAny(degraded, ['policy', 'features'])
            ) AS decision
            INNER JOIN (SELECT request_id, tenant, reward FROM {database}.rewards FINAL WHERE weight > 0) AS rewarded
                ON rewarded.request_id = decision.request_id AND rewarded.tenant = decision.tenant
    )
    GROUP BY arm
)
{colocated};
