-- Arms in whose place another one answered (docs/arms.md). Such an answer says nothing of the arm that was decided on: learning and the views of how
-- examples and thresholds did leave its reward out.

{columns:responses:
    ADD COLUMN IF NOT EXISTS failed_arms Array(Tuple(arm LowCardinality(String), code LowCardinality(String), attempts UInt32)) COMMENT 'Arms that failed before arm answered, in order: the first is the one of the decision' AFTER model
};

-- How examples did when they were shown. As in 0007, without what another arm answered.
CREATE OR REPLACE VIEW {database}.example_outcomes {on_cluster} AS
SELECT use.example_id AS example_id, count() AS uses, avg(rewarded.reward) AS outcome
FROM
    (SELECT example_id, request_id, tenant FROM {database}.example_uses FINAL WHERE created_at >= toStartOfHour(now('UTC')) - INTERVAL 336 HOUR) AS use
    INNER JOIN (SELECT request_id, tenant, reward FROM {database}.rewards FINAL WHERE weight > 0 AND (request_id, tenant) NOT IN (SELECT request_id, tenant FROM {database}.responses WHERE notEmpty(failed_arms))) AS rewarded
        ON rewarded.request_id = use.request_id AND rewarded.tenant = use.tenant
GROUP BY example_id
{colocated};

-- How each threshold did. As in 0007, without what another arm answered.
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
    INNER JOIN (SELECT request_id, tenant, reward FROM {database}.rewards FINAL WHERE weight > 0 AND (request_id, tenant) NOT IN (SELECT request_id, tenant FROM {database}.responses WHERE notEmpty(failed_arms))) AS rewarded
        ON rewarded.request_id = decision.request_id AND rewarded.tenant = decision.tenant
{colocated};

-- What each use of an example gained. As in 0007, without what another arm answered.
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
        WHERE status = 'ok' AND NOT duplicate AND empty(failed_arms) AND created_at >= toStartOfHour(now('UTC')) - INTERVAL 336 HOUR
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
