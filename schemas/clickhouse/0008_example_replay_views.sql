-- Views of example replay: what each attempt saved since.

CREATE OR REPLACE VIEW {database}.example_replay_uses {on_cluster}
(
    example_id String COMMENT 'Example id, derived from domain, request and response',
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset',
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    arm LowCardinality(String) COMMENT 'Chosen arm',
    arm_cost Float64 COMMENT 'Normalised cost of the arm, 0 to 1',
    created_at DateTime64(3, 'UTC') COMMENT 'When it was decided, UTC',
    rated Bool COMMENT 'The request has feedback that counts',
    quality Float64 COMMENT 'Reward where rated, else the quality predicted by the router, 0 to 1',
    gain Float64 COMMENT '(1 - quality) x arm_cost'
)
AS (
SELECT
    use.example_id AS example_id,
    use.request_id AS request_id,
    use.tenant AS tenant,
    use.arm AS arm,
    use.arm_cost AS arm_cost,
    use.created_at AS created_at,
    toBool(rewarded.weight > 0) AS rated,
    if(rewarded.weight > 0, rewarded.reward, least(greatest(ifNotFinite(use.arm_mean, 0.5), 0), 1)) AS quality,
    (1 - quality) * ifNotFinite(use.arm_cost, 0) AS gain
FROM
    (
        SELECT * FROM {database}.example_uses FINAL
        WHERE example_id GLOBAL IN (SELECT arrayJoin([example_id, ifNull(new_example_id, '')]) FROM {database}.example_replays WHERE gain IS NOT NULL)
    ) AS use
    INNER JOIN
    (
        SELECT request_id, tenant
        FROM {database}.responses FINAL
        WHERE status = 'ok' AND NOT duplicate AND empty(failed_arms)
    ) AS response
        ON response.request_id = use.request_id AND response.tenant = use.tenant
    LEFT JOIN (SELECT request_id, tenant, reward, weight FROM {database}.rewards FINAL) AS rewarded
        ON rewarded.request_id = use.request_id AND rewarded.tenant = use.tenant
{colocated}
)
COMMENT 'Answered uses of replayed examples, old and new';

CREATE OR REPLACE VIEW {database}.example_replay_attempts {on_cluster}
(
    run_id String COMMENT 'Id of the example replay run',
    tenant LowCardinality(String) COMMENT 'Tenant that owns the example',
    example_id String COMMENT 'Example that was replayed',
    attempt UInt32 COMMENT 'Number of the attempt on this example, from 1',
    new_example_id String COMMENT 'Example that replaced it; empty: none did',
    outcome LowCardinality(String) COMMENT 'replaced (by a better answer), kept, same, failed or unjudged',
    arm LowCardinality(String) COMMENT 'Arm that was asked for a better answer',
    samples UInt32 COMMENT 'Answers requested from that arm',
    gain Float64 COMMENT 'Predicted saving an hour when it was tried, in average answers of an arm of cost 1',
    relative_cost Float64 COMMENT 'Cost of the attempt, in average answers of an arm of cost 1',
    created_at DateTime64(3, 'UTC') COMMENT 'When it was tried, UTC',
    counted_until DateTime64(3, 'UTC') COMMENT 'Two weeks later, or when the new example was itself replaced, UTC; at most now'
)
AS (
SELECT
    one.run_id AS run_id,
    one.tenant AS tenant,
    one.example_id AS example_id,
    one.attempt AS attempt,
    ifNull(one.new_example_id, '') AS new_example_id,
    one.outcome AS outcome,
    one.arm AS arm,
    one.samples AS samples,
    assumeNotNull(one.gain) AS gain,
    ifNull(one.relative_cost, 0) AS relative_cost,
    one.created_at AS created_at,
    least(now64(3, 'UTC'), one.created_at + INTERVAL 336 HOUR, if(next.at > one.created_at, next.at, now64(3, 'UTC'))) AS counted_until
FROM
    (SELECT * FROM {database}.example_replays FINAL WHERE gain IS NOT NULL) AS one
    GLOBAL LEFT JOIN
    (
        SELECT example_id, tenant, min(created_at) AS at FROM {database}.example_replays FINAL
        WHERE outcome = 'replaced' GROUP BY example_id, tenant
    ) AS next ON next.example_id = ifNull(one.new_example_id, '') AND next.tenant = one.tenant
{colocated}
)
COMMENT 'Example replays, with the time until which uses count';

CREATE OR REPLACE VIEW {database}.example_replay_savings {on_cluster}
(
    run_id String COMMENT 'Id of the example replay run',
    tenant LowCardinality(String) COMMENT 'Tenant that owns the example',
    example_id String COMMENT 'Example that was replayed',
    attempt UInt32 COMMENT 'Number of the attempt on this example, from 1',
    new_example_id String COMMENT 'Example that replaced it; empty: none did',
    outcome LowCardinality(String) COMMENT 'replaced (by a better answer), kept, same, failed or unjudged',
    arm LowCardinality(String) COMMENT 'Arm that was asked for a better answer',
    samples UInt32 COMMENT 'Answers requested from that arm',
    gain Float64 COMMENT 'Predicted saving an hour when it was tried, in average answers of an arm of cost 1',
    relative_cost Float64 COMMENT 'Cost of the attempt, in average answers of an arm of cost 1',
    created_at DateTime64(3, 'UTC') COMMENT 'When it was tried, UTC',
    hours Float64 COMMENT 'Hours from created_at until its uses no longer count, or now',
    uses_before UInt64 COMMENT 'Uses of the old example in the two weeks before',
    uses_after UInt64 COMMENT 'Uses of the new example since',
    use_gain_before Nullable(Float64) COMMENT 'Mean gain of a use before; NULL: no use',
    use_gain_after Nullable(Float64) COMMENT 'Mean gain of a use since; NULL: no use',
    use_cost_before Nullable(Float64) COMMENT 'Mean normalised arm cost of a use before, 0 to 1; NULL: no use',
    use_cost_after Nullable(Float64) COMMENT 'Mean normalised arm cost of a use since, 0 to 1; NULL: no use',
    saved Nullable(Float64) COMMENT 'uses_after x (gain before - gain since); 0: not replaced; NULL: no use before'
)
AS (
SELECT
    attempt.run_id AS run_id,
    attempt.tenant AS tenant,
    attempt.example_id AS example_id,
    attempt.attempt AS attempt,
    attempt.new_example_id AS new_example_id,
    attempt.outcome AS outcome,
    attempt.arm AS arm,
    attempt.samples AS samples,
    attempt.gain AS gain,
    attempt.relative_cost AS relative_cost,
    attempt.created_at AS created_at,
    greatest(dateDiff('second', attempt.created_at, attempt.counted_until), 0) / 3600 AS hours,
    used.uses_before AS uses_before,
    used.uses_after AS uses_after,
    if(used.uses_before > 0, used.gain_before / used.uses_before, NULL) AS use_gain_before,
    if(used.uses_after > 0, used.gain_after / used.uses_after, NULL) AS use_gain_after,
    if(used.uses_before > 0, used.cost_before / used.uses_before, NULL) AS use_cost_before,
    if(used.uses_after > 0, used.cost_after / used.uses_after, NULL) AS use_cost_after,
    multiIf(
        attempt.outcome != 'replaced', 0,
        used.uses_before = 0, NULL,
        used.uses_after * used.gain_before / used.uses_before - used.gain_after) AS saved
FROM
    {database}.example_replay_attempts AS attempt
    GLOBAL LEFT JOIN
    (
        SELECT
            side.run_id AS run_id, side.replayed AS replayed, side.tenant AS tenant, side.attempt AS attempt,
            countIf(NOT side.is_new) AS uses_before,
            sumIf(use.gain, NOT side.is_new) AS gain_before,
            sumIf(use.arm_cost, NOT side.is_new) AS cost_before,
            countIf(side.is_new) AS uses_after,
            sumIf(use.gain, side.is_new) AS gain_after,
            sumIf(use.arm_cost, side.is_new) AS cost_after
        FROM {database}.example_replay_uses AS use
            GLOBAL INNER JOIN
            (
                SELECT
                    run_id, example_id AS replayed, tenant, attempt, created_at, counted_until,
                    which.1 AS used_id, which.2 AS is_new
                FROM {database}.example_replay_attempts
                ARRAY JOIN [(example_id, false), (new_example_id, true)] AS which
            ) AS side ON side.used_id = use.example_id AND side.tenant = use.tenant
        WHERE if(side.is_new,
            use.created_at >= side.created_at AND use.created_at < side.counted_until,
            use.created_at < side.created_at AND use.created_at >= side.created_at - INTERVAL 336 HOUR)
        GROUP BY run_id, replayed, tenant, attempt
    ) AS used
        ON used.run_id = attempt.run_id AND used.replayed = attempt.example_id AND used.tenant = attempt.tenant AND used.attempt = attempt.attempt
{colocated}
)
COMMENT 'What each example replay has saved since';
