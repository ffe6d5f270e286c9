-- What plan and learn read of helpfulness (docs/learning.md): how examples did when they were shown, and how each threshold did.

-- Layout of the features beside them: a proxy learns from one layout only.
{columns:example_uses:
    ADD COLUMN IF NOT EXISTS features_version UInt32 DEFAULT 1 COMMENT 'Layout of features' AFTER features
};
{columns:example_trials:
    ADD COLUMN IF NOT EXISTS features_version UInt32 DEFAULT 1 COMMENT 'Layout of features' AFTER features
};

-- Times that an example was shown and rewarded in the last two weeks, and the mean reward. What was never rewarded has no row.
CREATE OR REPLACE VIEW {database}.example_outcomes {on_cluster} AS
SELECT use.example_id AS example_id, count() AS uses, avg(rewarded.reward) AS outcome
FROM
    (SELECT example_id, request_id, tenant FROM {database}.example_uses FINAL WHERE created_at >= toStartOfHour(now('UTC')) - INTERVAL 336 HOUR) AS use
    INNER JOIN (SELECT request_id, tenant, reward FROM {database}.rewards FINAL WHERE weight > 0) AS rewarded
        ON rewarded.request_id = use.request_id AND rewarded.tenant = use.tenant
GROUP BY example_id
{colocated};

-- Rewarded requests of the last two weeks whose examples were chosen by a learnt proxy: the threshold that each was served under (explored:
-- tried on it by chance; else the one in force), its reward, and the tokens of the examples it was shown.
CREATE OR REPLACE VIEW {database}.threshold_outcomes {on_cluster} AS
SELECT
    decision.request_id AS request_id,
    decision.tenant AS tenant,
    decision.created_at AS created_at,
    round(ifNull(decision.explored_threshold, decision.threshold), 6) AS tau,
    decision.explored_threshold IS NOT NULL AS explored,
    rewarded.reward AS reward,
    decision.shown_tokens AS tokens
FROM
    (
        SELECT
            request_id, tenant, created_at, threshold, explored_threshold,
            arraySum(arms.examples[indexOf(arms.arm, arm)].tokens) AS shown_tokens
        FROM {database}.decisions FINAL
        WHERE proxy_version > 0 AND created_at >= toStartOfHour(now('UTC')) - INTERVAL 336 HOUR
    ) AS decision
    INNER JOIN (SELECT request_id, tenant, reward FROM {database}.rewards FINAL WHERE weight > 0) AS rewarded
        ON rewarded.request_id = decision.request_id AND rewarded.tenant = decision.tenant
{colocated};

-- Each threshold's mean net efficiency gain: reward less the price of the examples' tokens. gain and error (one standard error of it) are at the
-- default price, 0.05 of quality for 1,000 tokens; learn takes learn.threshold.tokenPrice and computes them from the moments beside them.
CREATE OR REPLACE VIEW {database}.thresholds {on_cluster} AS
SELECT
    tau,
    count() AS requests,
    countIf(explored) AS explored_requests,
    avg(reward) AS mean_reward,
    avg(tokens) AS mean_tokens,
    varPop(reward) AS reward_variance,
    varPop(toFloat64(tokens)) AS tokens_variance,
    covarPop(reward, toFloat64(tokens)) AS covariance,
    mean_reward - 0.00005 * mean_tokens AS gain,
    sqrt(greatest(reward_variance - 2 * 0.00005 * covariance + 0.00005 * 0.00005 * tokens_variance, 0) / greatest(requests - 1, 1)) AS error
FROM {database}.threshold_outcomes
GROUP BY tau
{colocated};

-- As in 0004, but what an example gained with a model that the arm has no more counts a quarter: it may help the next one less or more (spec 10).
CREATE OR REPLACE VIEW {database}.example_use_quality {on_cluster} AS
SELECT
    use.example_id AS example_id,
    use.request_id AS request_id,
    use.tenant AS tenant,
    use.domain AS domain,
    use.arm AS arm,
    use.model AS model,
    use.arm_cost AS arm_cost,
    use.created_at AS created_at,
    toBool(rewarded.weight > 0) AS rated,
    toBool(use.model != current.model) AS aged,
    if(rewarded.weight > 0, rewarded.reward, least(greatest(ifNotFinite(use.arm_mean, 0.5), 0), 1)) AS quality,
    (1 - quality) * ifNotFinite(use.arm_cost, 0) * if(aged, 0.25, 1) AS gain
FROM
    (SELECT * FROM {database}.example_uses FINAL WHERE created_at >= toStartOfHour(now('UTC')) - INTERVAL 336 HOUR) AS use
    INNER JOIN
    (
        SELECT request_id, tenant FROM {database}.responses FINAL
        WHERE status = 'ok' AND NOT duplicate AND created_at >= toStartOfHour(now('UTC')) - INTERVAL 336 HOUR
    ) AS response ON response.request_id = use.request_id AND response.tenant = use.tenant
    LEFT JOIN (SELECT request_id, tenant, reward, weight FROM {database}.rewards FINAL) AS rewarded
        ON rewarded.request_id = use.request_id AND rewarded.tenant = use.tenant
    GLOBAL INNER JOIN
    (
        SELECT arm, argMax(model, created_at) AS model FROM {database}.example_uses
        WHERE created_at >= toStartOfHour(now('UTC')) - INTERVAL 336 HOUR
        GROUP BY arm
    ) AS current ON current.arm = use.arm
{colocated};
