-- Views of experiments. What keeps a variant is compared: a user's requests are not independent.

CREATE OR REPLACE VIEW {database}.experiment_units {on_cluster}
(
    experiment LowCardinality(String) COMMENT 'Experiment',
    variant LowCardinality(String) COMMENT 'Variant of the unit',
    is_control Bool COMMENT 'The variant was the control at the last decision',
    probability Float64 COMMENT 'Probability of the variant at the last decision, 0 to 1',
    tenant LowCardinality(String) COMMENT 'Tenant that owns the requests',
    unit String COMMENT 'Digest of the user, session, tenant or request that keeps the variant',
    requests UInt64 COMMENT 'Answered, failed and refused requests',
    unanswered UInt64 COMMENT 'Those that failed or were refused',
    rated UInt64 COMMENT 'Requests with a reward',
    reward Nullable(Float64) COMMENT 'Mean reward of its rated requests, 0 to 1; NULL: none is rated',
    cost Float64 COMMENT 'Mean cost of its requests, in the currency of the configured prices',
    total_ms Float64 COMMENT 'Mean time from arrival to the finished answer, ms',
    first_at DateTime64(3, 'UTC') COMMENT 'First decision, UTC',
    last_at DateTime64(3, 'UTC') COMMENT 'Last decision, UTC'
)
AS (
SELECT
    decision.experiment AS experiment,
    decision.variant AS variant,
    argMax(decision.variant_is_control, decision.created_at) AS is_control,
    argMax(decision.variant_probability, decision.created_at) AS probability,
    decision.tenant AS tenant,
    decision.experiment_unit AS unit,
    count() AS requests,
    countIf(response.status != 'ok') AS unanswered,
    countIf(rewarded.weight > 0) AS rated,
    avgOrNullIf(rewarded.reward, rewarded.weight > 0) AS reward,
    avg(response.cost) AS cost,
    avg(response.total_ms) AS total_ms,
    min(decision.created_at) AS first_at,
    max(decision.created_at) AS last_at
FROM
    (
        SELECT request_id, tenant, experiment, variant, variant_is_control, variant_probability, experiment_unit, created_at
        FROM {database}.decisions FINAL
        WHERE experiment != ''
    ) AS decision
    INNER JOIN (SELECT request_id, tenant, status, cost, total_ms FROM {database}.responses FINAL WHERE NOT duplicate) AS response
        ON response.request_id = decision.request_id AND response.tenant = decision.tenant
    LEFT JOIN (SELECT request_id, tenant, reward, weight FROM {database}.rewards FINAL) AS rewarded
        ON rewarded.request_id = decision.request_id AND rewarded.tenant = decision.tenant
GROUP BY experiment, variant, tenant, unit
{colocated}
)
COMMENT 'Units of an experiment, with what they got';

-- The interval is a confidence sequence (Waudby-Smith and others, Time-uniform central limit theory
-- and asymptotic confidence sequences, 2021, theorem 2.2): it holds at all times at once, so an
-- experiment may be looked at and ended whenever it has a verdict. rho^2 = .0176 makes it narrowest
-- at about 500 units. Several variants share the 5 %. Two imagined units, one with the lowest and
-- one with the highest reward, keep the variance above zero. Where the configuration has changed, the
-- newest control is the control.
CREATE OR REPLACE VIEW {database}.experiments {on_cluster}
(
    experiment LowCardinality(String) COMMENT 'Experiment',
    variant LowCardinality(String) COMMENT 'Variant; the control first',
    is_control Bool COMMENT 'The other variants are compared with it',
    probability Float64 COMMENT 'Probability of the variant, 0 to 1',
    units UInt64 COMMENT 'Users, sessions, tenants or requests',
    requests UInt64 COMMENT 'Answered, failed and refused requests',
    unanswered UInt64 COMMENT 'Those that failed or were refused',
    rated_units UInt64 COMMENT 'Units with a reward',
    reward Nullable(Float64) COMMENT 'Mean reward of rated units, 0 to 1; NULL: none',
    cost Float64 COMMENT 'Mean cost of a request, by unit, in the currency of the configured prices',
    total_ms Float64 COMMENT 'Mean time from arrival to the finished answer, by unit, ms',
    difference Nullable(Float64) COMMENT 'Reward less that of the control; NULL: the control, or nothing is rated',
    low Nullable(Float64) COMMENT 'Lower end of the always-valid 95 % interval of difference; NULL: fewer than 30 rated units in either',
    high Nullable(Float64) COMMENT 'Upper end; NULL as low',
    verdict LowCardinality(String) COMMENT 'better, worse, equal (within .02), open, too_few (rated units), control; it may be acted on at any time',
    first_at DateTime64(3, 'UTC') COMMENT 'First decision, UTC',
    last_at DateTime64(3, 'UTC') COMMENT 'Last decision, UTC'
)
AS (
WITH
    variants AS (
        SELECT
            unit_of.experiment AS experiment, unit_of.variant AS variant,
            argMax(unit_of.is_control, unit_of.last_at) AS was_control,
            argMax(unit_of.probability, unit_of.last_at) AS share,
            count() AS all_units, sum(unit_of.requests) AS all_requests, sum(unit_of.unanswered) AS all_unanswered,
            countIf(unit_of.rated > 0) AS n,
            avgOrNull(unit_of.reward) AS mean,
            ifNull(varPopOrNull(unit_of.reward), 0) * n AS squares,
            avg(unit_of.cost) AS mean_cost, avg(unit_of.total_ms) AS mean_ms,
            min(unit_of.first_at) AS begun, max(unit_of.last_at) AS ended
        FROM {database}.experiment_units AS unit_of
        GROUP BY experiment, variant
    ),
    controlled AS (
        SELECT *, toBool(variant = argMaxIf(variant, ended, was_control) OVER (PARTITION BY experiment)) AS is_control
        FROM variants
    ),
    compared AS (
        SELECT
            *,
            sumIf(n, is_control) OVER its AS control_n,
            sumIf(ifNull(mean, 0), is_control) OVER its AS control_mean,
            sumIf(squares, is_control) OVER its AS control_squares,
            count() OVER its AS of_experiment
        FROM controlled
        WINDOW its AS (PARTITION BY experiment)
    ),
    (n + control_n) * 0.0176 AS scaled,
    sqrt((squares + 0.5) / pow(n, 2) + (control_squares + 0.5) / pow(control_n, 2))
        * sqrt(2 * (scaled + 1) / scaled * log(sqrt(scaled + 1) * greatest(of_experiment - 1, 1) / 0.05)) AS reach
SELECT
    experiment,
    variant,
    is_control,
    share AS probability,
    all_units AS units,
    all_requests AS requests,
    all_unanswered AS unanswered,
    n AS rated_units,
    mean AS reward,
    mean_cost AS cost,
    mean_ms AS total_ms,
    if(is_control OR n = 0 OR control_n = 0, NULL, mean - control_mean) AS difference,
    if(least(n, control_n) < 30, NULL, difference - reach) AS low,
    if(least(n, control_n) < 30, NULL, difference + reach) AS high,
    multiIf(
        is_control, 'control',
        least(n, control_n) < 30, 'too_few',
        ifNull(low > 0, 0), 'better',
        ifNull(high < 0, 0), 'worse',
        ifNull(low > -0.02 AND high < 0.02, 0), 'equal',
        'open') AS verdict,
    begun AS first_at,
    ended AS last_at
FROM compared
ORDER BY experiment, is_control DESC, variant
)
COMMENT 'Variants of experiments beside their control, with an anytime interval';
