-- Feedback that was asked for (docs/off-policy.md, Missing feedback): it comes mostly from requests on which the arms are nearly even. A reward of a decision that
-- was asked about with probability p is there with the chance p a + (1 - p) u, where a and u are the shares of those asked and not asked that gave feedback; it counts by
-- the inverse. Where nobody was asked, or asking makes no difference, all count alike and the figures are those of before.

-- Share of the decisions of the last two weeks that got feedback: of those asked and not asked among the ones that could be asked about, and of all others. NULL: there are none.
CREATE OR REPLACE VIEW {database}.asking_rates {on_cluster} AS
SELECT
    avgOrNullIf(has_reward, ask_probability > 0 AND was_asked) AS asked,
    avgOrNullIf(has_reward, ask_probability > 0 AND NOT was_asked) AS unasked,
    avgOrNullIf(has_reward, NOT ask_probability > 0) AS never
FROM
(
    SELECT decision.asked AS was_asked, ifNull(decision.ask_probability, 0) AS ask_probability, rewarded.weight > 0 AS has_reward
    FROM
        (
            SELECT request_id, tenant, asked, ask_probability FROM {database}.decisions FINAL
            WHERE created_at > now() - INTERVAL 2 WEEK AND probability > 0 AND NOT hasAny(degraded, ['policy', 'features'])
        ) AS decision
        LEFT JOIN (SELECT request_id, tenant, weight FROM {database}.rewards FINAL WHERE weight > 0) AS rewarded
            ON rewarded.request_id = decision.request_id AND rewarded.tenant = decision.tenant
)
{colocated};

-- What always taking one arm would have earned, over the rewarded decisions of the last two weeks on which it was allowed. Weights are
-- clipped at 100. No run of anything is needed. heard is what a reward stands for: where feedback was asked for with a logged probability,
-- 1 / its chance to be there.
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
{colocated};

-- How often a shadow would have chosen the arm that was served, and what it would have earned on the rewarded decisions, over the last two weeks: snips, whose
-- 95 % interval is value -+ reach. Weights are clipped at 100; a reward stands for heard decisions, as above.
-- agreement is the share of equal choices, expected_agreement the mean probability of that.
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
        sumIf(heard * reward, has_reward) / nullIf(sumIf(heard, has_reward), 0) AS mean_reward,
        sumIf(weight, has_reward) AS weights,
        sumIf(weight * reward, has_reward) / nullIf(weights, 0) AS value,
        sumIf(weight * weight * reward * reward, has_reward) AS square_terms,
        sumIf(weight * weight * reward, has_reward) AS square_weights_reward,
        sumIf(weight * weight, has_reward) AS square_weights,
        pow(weights, 2) / nullIf(square_weights, 0) AS effective
    FROM
    (
        WITH (SELECT (asked, unasked, never) FROM {database}.asking_rates) AS rates
        SELECT
            decision.shadow.1 AS policy, decision.shadow.2 AS version, decision.shadow.3 AS shadow_arm, decision.arm AS arm, decision.created_at AS created_at,
            rewarded.weight > 0 AS has_reward, rewarded.reward AS reward,
            decision.shadow.5[indexOf(decision.shadow.5.1, decision.arm)].4 AS shadow_probability,
            ifNull(decision.ask_probability, 0) AS ask_probability,
            1 / greatest(0.001, if(ask_probability > 0,
                ask_probability * greatest(0.01, ifNull(rates.1, 1)) + (1 - ask_probability) * ifNull(rates.2, 0),
                greatest(0.01, ifNull(rates.3, 1)))) AS heard,
            heard * least(100, shadow_probability / decision.probability) AS weight
        FROM
            (
                SELECT request_id, tenant, arm, probability, created_at, ask_probability, arrayJoin(shadows) AS shadow
                FROM {database}.decisions FINAL
                WHERE created_at > now() - INTERVAL 2 WEEK AND probability > 0
            ) AS decision
            LEFT JOIN (SELECT request_id, tenant, reward, weight FROM {database}.rewards FINAL WHERE weight > 0) AS rewarded
                ON rewarded.request_id = decision.request_id AND rewarded.tenant = decision.tenant
    )
    GROUP BY policy, version
)
{colocated};
