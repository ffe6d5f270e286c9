-- Router policies that are held in shadow (docs/off-policy.md): what each would have chosen on the decisions that were served by another.

{columns:decisions:
    ADD COLUMN IF NOT EXISTS shadows Array(Tuple(
        policy LowCardinality(String),
        version UInt64,
        arm LowCardinality(String),
        probability Float64,
        arms Array(Tuple(arm LowCardinality(String), mean Float64, deviation Float64, probability Float64))
    )) COMMENT 'Of each policy in shadow: its choice, with which probability, and how the arms looked to it' CODEC(ZSTD(3)) AFTER cache_key
};

-- How often a shadow would have chosen the arm that was served, and what it would have earned on the rewarded decisions, over the last two weeks: snips, whose
-- 95 % interval is value -+ reach. Weights are clipped at 100. agreement is the share of equal choices, expected_agreement the mean probability of that.
CREATE OR REPLACE VIEW {database}.shadow_values {on_cluster} AS
SELECT
    policy, version, decisions, agreement, expected_agreement, first_at, last_at, rewarded, mean_reward, value, effective,
    if(rewarded > 1, 1.959963984540054 * sqrt(greatest(0, square_terms - 2 * value * square_weights_reward + value * value * square_weights)
        * rewarded / (rewarded - 1)) / weights, NULL) AS reach
FROM
(
    SELECT
        policy, version, count() AS decisions,
        avg(shadow_arm = arm) AS agreement,
        avg(shadow_probability) AS expected_agreement,
        min(created_at) AS first_at, max(created_at) AS last_at,
        countIf(has_reward) AS rewarded,
        avgOrNullIf(reward, has_reward) AS mean_reward,
        sumIf(weight, has_reward) AS weights,
        sumIf(weight * reward, has_reward) / nullIf(weights, 0) AS value,
        sumIf(weight * weight * reward * reward, has_reward) AS square_terms,
        sumIf(weight * weight * reward, has_reward) AS square_weights_reward,
        sumIf(weight * weight, has_reward) AS square_weights,
        pow(weights, 2) / nullIf(square_weights, 0) AS effective
    FROM
    (
        SELECT
            decision.shadow.1 AS policy, decision.shadow.2 AS version, decision.shadow.3 AS shadow_arm, decision.arm AS arm, decision.created_at AS created_at,
            rewarded.weight > 0 AS has_reward, rewarded.reward AS reward,
            decision.shadow.5[indexOf(decision.shadow.5.1, decision.arm)].4 AS shadow_probability,
            least(100, shadow_probability / decision.probability) AS weight
        FROM
            (
                SELECT request_id, tenant, arm, probability, created_at, arrayJoin(shadows) AS shadow
                FROM {database}.decisions FINAL
                WHERE created_at > now() - INTERVAL 2 WEEK AND probability > 0
            ) AS decision
            LEFT JOIN (SELECT request_id, tenant, reward, weight FROM {database}.rewards FINAL WHERE weight > 0) AS rewarded
                ON rewarded.request_id = decision.request_id AND rewarded.tenant = decision.tenant
    )
    GROUP BY policy, version
)
{colocated};
