-- Views of feedback.

CREATE OR REPLACE VIEW {database}.feedback_status {on_cluster}
(
    feedback_id String COMMENT 'Feedback id, the idempotency key',
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset',
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    kind LowCardinality(String) COMMENT 'thumbs, score, preference, comparison, reward or correction',
    value Nullable(Float64) COMMENT 'Value in the range of its kind; NULL: a correction or a withdrawal',
    range_low Nullable(Float64) COMMENT 'Lowest value of a score; NULL: other kinds',
    range_high Nullable(Float64) COMMENT 'Highest value of a score; NULL: other kinds',
    source LowCardinality(String) COMMENT 'person, judge or system',
    author LowCardinality(String) COMMENT 'Name within the source, by which all of it can be withdrawn; empty: not given',
    against LowCardinality(Nullable(String)) COMMENT 'Arm of the other answer, for preference and comparison; NULL: other kinds',
    created_at DateTime64(3, 'UTC') COMMENT 'When the broker received it, UTC',
    uncounted String COMMENT 'withdrawn (by id), source_withdrawn, over_limit; empty: it counts'
)
AS (
WITH
    (
        SELECT (
            groupArrayIf((withdrawal_id, tenant, source, author, since, until), restores IS NULL),
            groupArrayIf(assumeNotNull(restores), restores IS NOT NULL))
        FROM {database}.withdrawals FINAL
    ) AS said,
    arrayFilter(one -> NOT has(said.2, one.1), said.1) AS in_force
SELECT
    given.feedback_id AS feedback_id,
    given.request_id AS request_id,
    given.tenant AS tenant,
    given.kind AS kind,
    given.value AS value,
    given.range_low AS range_low,
    given.range_high AS range_high,
    given.source AS source,
    given.author AS author,
    given.against AS against,
    given.created_at AS created_at,
    multiIf(
        withdrawn.feedback_id != '', 'withdrawn',
        arrayExists(one ->
            ifNull(one.2, given.tenant) = given.tenant AND ifNull(one.3, given.source) = given.source
                AND ifNull(one.4, given.author) = given.author
                AND given.created_at >= ifNull(one.5, given.created_at) AND (one.6 IS NULL OR given.created_at < assumeNotNull(one.6)),
            in_force), 'source_withdrawn',
        above.excess, 'over_limit',
        '') AS uncounted
FROM
    (SELECT * FROM {database}.feedback FINAL) AS given
    LEFT ANY JOIN
    (
        SELECT request_id, tenant, assumeNotNull(withdraws) AS feedback_id
        FROM {database}.feedback FINAL
        WHERE withdraws IS NOT NULL
    ) AS withdrawn
        ON withdrawn.request_id = given.request_id AND withdrawn.tenant = given.tenant AND withdrawn.feedback_id = given.feedback_id
    LEFT JOIN
    (SELECT request_id, tenant, feedback_id, excess FROM {database}.feedback_excess FINAL) AS above
        ON above.request_id = given.request_id AND above.tenant = given.tenant AND above.feedback_id = given.feedback_id
{colocated}
)
COMMENT 'Feedback, and why it does not count where it does not';

CREATE OR REPLACE VIEW {database}.feedback_sources {on_cluster}
(
    tenant LowCardinality(String) COMMENT 'Tenant',
    source LowCardinality(String) COMMENT 'person, judge or system',
    author LowCardinality(String) COMMENT 'Author; empty: not given',
    feedback UInt64 COMMENT 'Pieces of feedback',
    requests UInt64 COMMENT 'Requests with feedback',
    withdrawn UInt64 COMMENT 'Pieces withdrawn by id',
    source_withdrawn UInt64 COMMENT 'Pieces withdrawn by source, author or time',
    over_limit UInt64 COMMENT 'Pieces above the hourly limits',
    corrections UInt64 COMMENT 'Pieces that are corrections',
    mean_points Nullable(Float64) COMMENT 'Mean of the values scaled to 0 to 1; NULL: none',
    first_at DateTime64(3, 'UTC') COMMENT 'Earliest feedback, UTC',
    last_at DateTime64(3, 'UTC') COMMENT 'Newest feedback, UTC'
)
AS (
SELECT
    tenant, source, author,
    count() AS feedback,
    uniqExact(request_id) AS requests,
    countIf(uncounted = 'withdrawn') AS withdrawn,
    countIf(uncounted = 'source_withdrawn') AS source_withdrawn,
    countIf(uncounted = 'over_limit') AS over_limit,
    countIf(kind = 'correction') AS corrections,
    avgOrNullIf(least(greatest(points, 0), 1), isFinite(points)) AS mean_points,
    min(created_at) AS first_at,
    max(created_at) AS last_at
FROM
(
    SELECT
        *,
        assumeNotNull(ifNull(multiIf(
            kind = 'correction', 0.,
            kind = 'thumbs', (value + 1) / 2,
            kind = 'reward', value,
            kind = 'score', (value - range_low) / nullIf(range_high - range_low, 0),
            NULL), nan)) AS points
    FROM {database}.feedback_status
)
GROUP BY tenant, source, author
)
COMMENT 'Number and mean of feedback by source and author';

-- Feedback that was asked for comes mostly from requests on which the arms are nearly even. With
-- asking probability p, a reward is present with probability p asked + (1 - p) unasked; the policy
-- views weigh it by the inverse.
CREATE OR REPLACE VIEW {database}.asking_rates {on_cluster}
(
    asked Nullable(Float64) COMMENT 'Share with feedback among decisions that were asked about, 0 to 1; NULL: none',
    unasked Nullable(Float64) COMMENT 'Share among those that could have been asked about and were not, 0 to 1; NULL: none',
    never Nullable(Float64) COMMENT 'Share among all others, 0 to 1; NULL: none'
)
AS (
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
{colocated}
)
COMMENT 'How often feedback arrives when asked for and otherwise';
