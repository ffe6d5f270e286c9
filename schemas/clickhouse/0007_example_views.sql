-- Views of how examples and helpfulness thresholds did in the last two weeks.

-- Uses with a model that the arm no longer has count a quarter. Two weeks: what is older has faded
-- from the ranking (0.9^336 < 1e-15). Answers of another arm than the chosen one are left out.
CREATE OR REPLACE VIEW {database}.example_use_quality {on_cluster}
(
    example_id String COMMENT 'Example id, derived from domain, request and response',
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset',
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo',
    arm LowCardinality(String) COMMENT 'Chosen arm',
    model LowCardinality(String) COMMENT 'Model of the arm',
    arm_cost Float64 COMMENT 'Normalised cost of the arm, 0 to 1',
    created_at DateTime64(3, 'UTC') COMMENT 'When it was decided, UTC',
    rated Bool COMMENT 'The request has feedback that counts',
    aged Bool COMMENT 'The arm has changed its model since this use',
    quality Float64 COMMENT 'Reward where rated, else the quality predicted by the router, 0 to 1',
    gain Float64 COMMENT '(1 - quality) x arm_cost; a quarter of it where aged'
)
AS (
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
{colocated}
)
COMMENT 'Answered uses of examples, with quality and gain';

CREATE OR REPLACE VIEW {database}.example_gain_hours {on_cluster}
(
    example_id String COMMENT 'Example id, derived from domain, request and response',
    tenant String COMMENT 'Tenant that owns the requests',
    domain String COMMENT 'Sharing domain as tenant/domain, such as acme/geo',
    hour DateTime('UTC') COMMENT 'Hour of the uses, UTC',
    uses UInt64 COMMENT 'Number of uses',
    rated_uses UInt64 COMMENT 'Uses with feedback that counts',
    quality_sum Float64 COMMENT 'Sum of quality',
    total Float64 COMMENT 'Sum of gain'
)
AS (
SELECT
    example_id,
    any(tenant) AS tenant,
    any(domain) AS domain,
    toStartOfHour(created_at) AS hour,
    count() AS uses,
    countIf(rated) AS rated_uses,
    sum(quality) AS quality_sum,
    sum(gain) AS total
FROM {database}.example_use_quality
GROUP BY example_id, hour
{colocated}
)
COMMENT 'Uses, quality and gain of an example by hour';

-- G_h = 0.9 G_(h-1) + 0.1 total_h, which is the sum below.
CREATE OR REPLACE VIEW {database}.example_gain {on_cluster}
(
    example_id String COMMENT 'Example id, derived from domain, request and response',
    tenant LowCardinality(String) COMMENT 'Tenant that owns the example',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo',
    gain Float64 COMMENT 'Smoothed gain an hour, in average answers of an arm of cost 1',
    uses UInt64 COMMENT 'Uses in two weeks',
    rated_uses UInt64 COMMENT 'Uses with feedback that counts',
    mean_quality Float64 COMMENT 'Mean quality of the uses, 0 to 1',
    last_used DateTime('UTC') COMMENT 'Hour of the last use, UTC',
    as_of DateTime('UTC') COMMENT 'Hour that it is computed for, UTC',
    quality Float64 COMMENT 'Quality of the answer, 0 to 1',
    replays UInt32 COMMENT 'Number of example replays, at most 5',
    source_arm LowCardinality(String) COMMENT 'Arm that answered',
    request String COMMENT 'Request text',
    response String COMMENT 'Answer text'
)
AS (
SELECT
    example.example_id AS example_id,
    example.tenant AS tenant,
    example.domain AS domain,
    used.gain AS gain,
    used.uses AS uses,
    used.rated_uses AS rated_uses,
    used.mean_quality AS mean_quality,
    used.last_used AS last_used,
    toStartOfHour(now('UTC')) AS as_of,
    example.quality AS quality,
    example.replays AS replays,
    example.source_arm AS source_arm,
    example.request AS request,
    example.response AS response
FROM
    (SELECT * FROM {database}.examples FINAL WHERE NOT deleted) AS example
    GLOBAL INNER JOIN
    (
        SELECT
            example_id,
            0.1 * sum(hours.total * pow(0.9, dateDiff('hour', hours.hour, toStartOfHour(now('UTC'))))) AS gain,
            sum(hours.uses) AS uses,
            sum(hours.rated_uses) AS rated_uses,
            sum(hours.quality_sum) / sum(hours.uses) AS mean_quality,
            max(hours.hour) AS last_used
        FROM {database}.example_gain_hours AS hours
        WHERE hours.hour <= toStartOfHour(now('UTC'))
        GROUP BY example_id
    ) AS used ON used.example_id = example.example_id
{colocated}
)
COMMENT 'Ranking for example replay: what a better answer would gain';

CREATE OR REPLACE VIEW {database}.example_outcomes {on_cluster}
(
    example_id String COMMENT 'Example id, derived from domain, request and response',
    uses UInt64 COMMENT 'Uses with feedback that counts',
    outcome Float64 COMMENT 'Mean reward of these requests, 0 to 1'
)
AS (
SELECT use.example_id AS example_id, count() AS uses, avg(rewarded.reward) AS outcome
FROM
    (
        SELECT example_id, request_id, tenant
        FROM {database}.example_uses FINAL
        WHERE created_at >= toStartOfHour(now('UTC')) - INTERVAL 336 HOUR
    ) AS use
    INNER JOIN
    (
        SELECT request_id, tenant, reward
        FROM {database}.rewards FINAL
        WHERE weight > 0
            AND (request_id, tenant) NOT IN (SELECT request_id, tenant FROM {database}.responses WHERE notEmpty(failed_arms))
    ) AS rewarded
        ON rewarded.request_id = use.request_id AND rewarded.tenant = use.tenant
GROUP BY example_id
{colocated}
)
COMMENT 'How often an example was shown on a rewarded request, and the mean reward';

-- Only decisions with a helpfulness model, and only answers of the chosen arm. Not examples that a
-- conversation kept: an earlier turn chose them, under a threshold of its own.
CREATE OR REPLACE VIEW {database}.threshold_outcomes {on_cluster}
(
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset',
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    created_at DateTime64(3, 'UTC') COMMENT 'When it was decided, UTC',
    tau Float64 COMMENT 'Helpfulness threshold, 0 to 1',
    explored UInt8 COMMENT '1: tried by chance; 0: the one in force',
    reward Float64 COMMENT 'Reward, 0 to 1',
    tokens UInt64 COMMENT 'Tokens of the examples shown'
)
AS (
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
        WHERE helpfulness_version > 0 AND arms.order[indexOf(arms.arm, arm)] != 'kept'
            AND created_at >= toStartOfHour(now('UTC')) - INTERVAL 336 HOUR
    ) AS decision
    INNER JOIN
    (
        SELECT request_id, tenant, reward
        FROM {database}.rewards FINAL
        WHERE weight > 0
            AND (request_id, tenant) NOT IN (SELECT request_id, tenant FROM {database}.responses WHERE notEmpty(failed_arms))
    ) AS rewarded
        ON rewarded.request_id = decision.request_id AND rewarded.tenant = decision.tenant
{colocated}
)
COMMENT 'Rewarded requests with the helpfulness threshold in force';

-- learn applies learn.threshold.tokenPrice to the moments; gain and error use its default, 0.05 for
-- 1,000 tokens.
CREATE OR REPLACE VIEW {database}.thresholds {on_cluster}
(
    tau Float64 COMMENT 'Helpfulness threshold, 0 to 1',
    requests UInt64 COMMENT 'Rewarded requests',
    explored_requests UInt64 COMMENT 'Rewarded requests on which it was tried by chance',
    mean_reward Float64 COMMENT 'Mean reward, 0 to 1',
    mean_tokens Float64 COMMENT 'Mean tokens of the examples shown',
    reward_variance Float64 COMMENT 'Variance of the reward',
    tokens_variance Float64 COMMENT 'Variance of the tokens',
    covariance Float64 COMMENT 'Covariance of reward and tokens',
    gain Float64 COMMENT 'mean_reward less 0.00005 a token',
    error Float64 COMMENT 'Standard error of gain'
)
AS (
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
{colocated}
)
COMMENT 'Reward of each helpfulness threshold, less the price of its tokens';

-- A random order has the most helpful example last with the chance 1 / examples, any other has it
-- there or not by its rule. Weights undo both chances, so that groups of an arm are comparable; not
-- kept, which only later turns of conversations have.
CREATE OR REPLACE VIEW {database}.example_orders {on_cluster}
(
    arm LowCardinality(String) COMMENT 'Arm that answered',
    example_order LowCardinality(String) COMMENT 'Order of the examples: best_last, shared_prefix, random, or kept',
    best_is_last Bool COMMENT 'The most helpful example stands next to the question',
    requests UInt64 COMMENT 'Rewarded requests with two examples or more',
    mean_reward Float64 COMMENT 'Mean reward, weighted by the inverse probability of the order, 0 to 1',
    error Float64 COMMENT 'Standard error of mean_reward'
)
AS (
SELECT
    arm,
    example_order,
    best_is_last,
    count() AS requests,
    sum(weight * reward) / sum(weight) AS mean_reward,
    sqrt(greatest(sum(pow(weight * reward, 2)) - 2 * mean_reward * sum(weight * weight * reward) + pow(mean_reward, 2) * sum(weight * weight), 0)) / sum(weight) AS error
FROM
(
    SELECT
        use.arm AS arm,
        use.example_order AS example_order,
        use.best_is_last AS best_is_last,
        rewarded.reward AS reward,
        1 / (use.probability * if(use.example_order = 'random', if(use.best_is_last, 1, use.examples - 1) / use.examples, 1)) AS weight
    FROM
        (
            SELECT
                request_id, tenant, any(arm) AS arm, any(example_order) AS example_order, any(order_probability) AS probability,
                count() AS examples, toBool(argMax(position, (helpfulness, position)) = max(position)) AS best_is_last
            FROM {database}.example_uses FINAL
            WHERE created_at >= toStartOfHour(now('UTC')) - INTERVAL 336 HOUR
            GROUP BY request_id, tenant
            HAVING examples > 1
        ) AS use
        INNER JOIN
        (
            SELECT request_id, tenant, reward
            FROM {database}.rewards FINAL
            WHERE weight > 0
                AND (request_id, tenant) NOT IN (SELECT request_id, tenant FROM {database}.responses WHERE notEmpty(failed_arms))
        ) AS rewarded
            ON rewarded.request_id = use.request_id AND rewarded.tenant = use.tenant
)
GROUP BY arm, example_order, best_is_last
{colocated}
)
COMMENT 'Reward by the order of the examples';
