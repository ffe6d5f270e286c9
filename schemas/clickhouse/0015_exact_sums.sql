-- An INSERT whose answer was lost is sent again. ClickHouse drops blocks that it has, and what they
-- would feed, so answer_hours and answer_days count them once. Replicated tables do so by default.

ALTER TABLE {table:responses} {on_cluster} MODIFY SETTING non_replicated_deduplication_window = 1000;
ALTER TABLE {table:answer_hours} {on_cluster} MODIFY SETTING non_replicated_deduplication_window = 1000;
ALTER TABLE {table:answer_days} {on_cluster} MODIFY SETTING non_replicated_deduplication_window = 1000;

-- policy_value_arms as precedent policy evaluate has it: without decisions where the arm failed,
-- or another arm or the response cache answered. Weights are clipped at 100. heard is 1 / the
-- probability that the reward is present, by asking_rates.
CREATE OR REPLACE VIEW {database}.policy_value_arms {on_cluster}
(
    arm String COMMENT 'Arm that is always chosen',
    decisions UInt64 COMMENT 'Number of decisions evaluated',
    ips Nullable(Float64) COMMENT 'Value by inverse propensity scoring',
    snips Nullable(Float64) COMMENT 'Value by self-normalised inverse propensity scoring',
    effective Nullable(Float64) COMMENT 'Effective sample size',
    largest_weight Float64 COMMENT 'Largest importance weight',
    unsupported Nullable(Float64) COMMENT 'Share of decisions on which the arm had no probability, 0 to 1',
    snips_reach Nullable(Float64) COMMENT 'Half width of the 95 % interval of snips; NULL: rewards that are all equal show none'
)
AS (
SELECT
    arm, decisions, ips, snips, effective, largest_weight, unsupported, if(reach > 1e-7, reach, NULL) AS snips_reach
FROM
(
    SELECT
        *,
        1.959963984540054 * sqrt(greatest(0, square_terms - 2 * snips * square_weights_reward + snips * snips * square_weights)
            * decisions / (decisions - 1)) / weights AS reach
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
                    WHERE created_at > now() - INTERVAL 2 WEEK AND probability > 0 AND probability <= 1 AND source != 'cache'
                        AND NOT hasAny(degraded, ['policy', 'features'])
                ) AS decision
                INNER JOIN (SELECT request_id, tenant, reward FROM {database}.rewards FINAL WHERE weight > 0) AS rewarded
                    ON rewarded.request_id = decision.request_id AND rewarded.tenant = decision.tenant
                LEFT JOIN
                (
                    SELECT request_id, tenant, status, arm AS answered_by FROM {database}.responses FINAL
                    WHERE created_at > now() - INTERVAL 2 WEEK AND NOT duplicate
                ) AS response
                    ON response.request_id = decision.request_id AND response.tenant = decision.tenant
            WHERE ifNull(response.request_id, '') = '' OR (response.status = 'ok' AND ifNull(response.answered_by, '') = decision.arm)
        )
        GROUP BY arm
    )
)
{colocated}
)
COMMENT 'What always choosing one arm would have earned';
