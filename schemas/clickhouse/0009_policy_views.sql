-- Views of off-policy evaluation: what other policies would have earned on the logged decisions.

-- Weights are clipped at 100. heard is 1 / the probability that the reward is present, by
-- asking_rates.
CREATE OR REPLACE VIEW {database}.policy_value_arms {on_cluster}
(
    arm String COMMENT 'Arm that is always chosen',
    decisions UInt64 COMMENT 'Number of decisions evaluated',
    ips Nullable(Float64) COMMENT 'Value by inverse propensity scoring',
    snips Nullable(Float64) COMMENT 'Value by self-normalised inverse propensity scoring',
    effective Nullable(Float64) COMMENT 'Effective sample size',
    largest_weight Float64 COMMENT 'Largest importance weight',
    unsupported Nullable(Float64) COMMENT 'Share of decisions on which the arm had no probability, 0 to 1',
    snips_reach Nullable(Float64) COMMENT 'Half width of the 95 % interval of snips'
)
AS (
SELECT
    arm, decisions, ips, snips, effective, largest_weight, unsupported,
    1.959963984540054 * sqrt(greatest(0, square_terms - 2 * snips * square_weights_reward + snips * snips * square_weights)
        * decisions / (decisions - 1)) / weights AS snips_reach
FROM
(
    SELECT
        arm, count() AS decisions,
        sum(weight) AS weights,
        sum(weight * reward) / nullIf(sum(heard), 0) AS ips,
        sum(weight * reward) / nullIf(weights, 0) AS snips,
        sum(weight * weight * reward * reward) AS square_terms,
        sum(weight * weight * reward) AS square_weights_reward,
        sum(weight * weight) AS square_weights,
        pow(sum(weight), 2) / nullIf(sum(weight * weight), 0) AS effective,
        max(weight / heard) AS largest_weight,
        sumIf(heard, arm_probability < 1e-9) / nullIf(sum(heard), 0) AS unsupported
    FROM
    (
        WITH (SELECT (asked, unasked, never) FROM {database}.asking_rates) AS rates
        SELECT
            score.1 AS arm, score.2 AS arm_probability, rewarded.reward AS reward,
            ifNull(decision.ask_probability, 0) AS ask_probability,
            1 / greatest(0.001, if(ask_probability > 0,
                ask_probability * greatest(0.01, ifNull(rates.1, 1)) + (1 - ask_probability) * ifNull(rates.2, 0),
                greatest(0.01, ifNull(rates.3, 1)))) AS heard,
            heard * if(score.1 = decision.arm, least(100, 1 / decision.probability), 0) AS weight
        FROM
            (
                SELECT request_id, tenant, arm, probability, ask_probability, arrayJoin(arrayZip(arms.arm, arms.probability)) AS score
                FROM {database}.decisions FINAL
                WHERE created_at > now() - INTERVAL 2 WEEK AND probability > 0 AND NOT hasAny(degraded, ['policy', 'features'])
            ) AS decision
            INNER JOIN (SELECT request_id, tenant, reward FROM {database}.rewards FINAL WHERE weight > 0) AS rewarded
                ON rewarded.request_id = decision.request_id AND rewarded.tenant = decision.tenant
    )
    GROUP BY arm
)
{colocated}
)
COMMENT 'What always choosing one arm would have earned';

-- Intervals: ips, dr and switch_dr by the sample variance of their terms, snips by the delta
-- method. dm has none: its error is that of the reward model.
CREATE OR REPLACE VIEW {database}.policy_value_domains {on_cluster}
(
    evaluation String COMMENT 'Id of the evaluation',
    policy LowCardinality(String) COMMENT 'Policy that was evaluated: router@12, an arm, logged or a file',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo',
    decisions UInt64 COMMENT 'Number of decisions evaluated',
    evaluated_at DateTime64(3, 'UTC') COMMENT 'When it was evaluated, UTC',
    ips Float64 COMMENT 'Value by inverse propensity scoring',
    snips Nullable(Float64) COMMENT 'Value by self-normalised inverse propensity scoring',
    dm Nullable(Float64) COMMENT 'Value by the direct method, the reward model alone; NULL: no reward model',
    dr Nullable(Float64) COMMENT 'Value by the doubly robust estimator; NULL: no reward model',
    switch_dr Nullable(Float64) COMMENT 'Value by SWITCH-DR, which drops clipped weights; NULL: no reward model',
    effective Nullable(Float64) COMMENT 'Effective sample size',
    largest_weight Float64 COMMENT 'Largest importance weight',
    clipped Float64 COMMENT 'Share of decisions whose weight is above the cap, 0 to 1',
    unsupported Float64 COMMENT 'Mean probability that the policy gives to arms without a logged one, 0 to 1',
    ips_reach Float64 COMMENT 'Half width of the 95 % interval of ips',
    snips_reach Nullable(Float64) COMMENT 'Half width of the 95 % interval of snips',
    dr_reach Nullable(Float64) COMMENT 'Half width of the 95 % interval of dr',
    switch_dr_reach Nullable(Float64) COMMENT 'Half width of the 95 % interval of switch_dr'
)
AS (
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
{colocated}
)
COMMENT 'Saved off-policy evaluations by sharing domain';

CREATE OR REPLACE VIEW {database}.policy_value_evaluations {on_cluster}
(
    evaluation String COMMENT 'Id of the evaluation',
    policy LowCardinality(String) COMMENT 'Policy that was evaluated: router@12, an arm, logged or a file',
    decisions UInt64 COMMENT 'Number of decisions evaluated',
    evaluated_at DateTime64(3, 'UTC') COMMENT 'When it was evaluated, UTC',
    ips Float64 COMMENT 'Value by inverse propensity scoring',
    snips Nullable(Float64) COMMENT 'Value by self-normalised inverse propensity scoring',
    dm Nullable(Float64) COMMENT 'Value by the direct method, the reward model alone; NULL: no reward model',
    dr Nullable(Float64) COMMENT 'Value by the doubly robust estimator; NULL: no reward model',
    switch_dr Nullable(Float64) COMMENT 'Value by SWITCH-DR, which drops clipped weights; NULL: no reward model',
    effective Nullable(Float64) COMMENT 'Effective sample size',
    largest_weight Float64 COMMENT 'Largest importance weight',
    clipped Float64 COMMENT 'Share of decisions whose weight is above the cap, 0 to 1',
    unsupported Float64 COMMENT 'Mean probability that the policy gives to arms without a logged one, 0 to 1',
    ips_reach Float64 COMMENT 'Half width of the 95 % interval of ips',
    snips_reach Nullable(Float64) COMMENT 'Half width of the 95 % interval of snips',
    dr_reach Nullable(Float64) COMMENT 'Half width of the 95 % interval of dr',
    switch_dr_reach Nullable(Float64) COMMENT 'Half width of the 95 % interval of switch_dr'
)
AS (
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
{colocated}
)
COMMENT 'Saved off-policy evaluations, with 95 % intervals';
