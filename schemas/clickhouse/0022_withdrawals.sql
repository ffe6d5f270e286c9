-- Feedback by who gave it, so that all of it can be withdrawn, and what of it does not count (docs/learning.md, Withdrawing feedback).

{columns:feedback:
    ADD COLUMN IF NOT EXISTS author LowCardinality(String) COMMENT 'Who said it, within the source; empty: not said' AFTER source
};

-- Sources, authors and times whose feedback no longer counts. NULL: any. A row that restores one takes it back.
CREATE TABLE IF NOT EXISTS {table:withdrawals} {on_cluster}
(
    withdrawal_id String COMMENT 'Idempotency key',
    tenant Nullable(String),
    source Nullable(String) COMMENT 'person, judge, system',
    author Nullable(String) COMMENT 'Empty: of those who said no name',
    since Nullable(DateTime64(3, 'UTC')) COMMENT 'Of feedback.created_at',
    until Nullable(DateTime64(3, 'UTC')) COMMENT 'Feedback of this time still counts',
    restores Nullable(String) COMMENT 'A withdrawal that holds no more',
    comment Nullable(String),
    created_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String),
    kafka_partition Int32 CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 CODEC(Delta, ZSTD(1)),
    kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot, topic id; empty: not known',
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:first_wins}
ORDER BY (withdrawal_id);

{distributed:withdrawals:cityHash64(withdrawal_id)};

-- Feedback above the limits of its source or author in its hour (learn.feedback), as learn found it.
CREATE TABLE IF NOT EXISTS {table:feedback_excess} {on_cluster}
(
    request_id String CODEC(ZSTD(1)),
    tenant LowCardinality(String),
    feedback_id String CODEC(ZSTD(1)),
    created_at DateTime64(3, 'UTC') COMMENT 'Of the feedback' CODEC(Delta, ZSTD(1)),
    excess Bool COMMENT 'It does not count; false: it does again',
    version UInt64 COMMENT 'Microseconds since the epoch, always above what was there' CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:version}
ORDER BY (request_id, tenant, feedback_id)
{ttl:created_at};

{distributed:feedback_excess:cityHash64(request_id)};

-- Every piece of feedback, and why it does not count: withdrawn (by its id), source_withdrawn, over_limit; empty: it counts.
CREATE OR REPLACE VIEW {database}.feedback_status {on_cluster} AS
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
    (SELECT request_id, tenant, assumeNotNull(withdraws) AS feedback_id FROM {database}.feedback FINAL WHERE withdraws IS NOT NULL) AS withdrawn
        ON withdrawn.request_id = given.request_id AND withdrawn.tenant = given.tenant AND withdrawn.feedback_id = given.feedback_id
    LEFT JOIN
    (SELECT request_id, tenant, feedback_id, excess FROM {database}.feedback_excess FINAL) AS above
        ON above.request_id = given.request_id AND above.tenant = given.tenant AND above.feedback_id = given.feedback_id
{colocated};

-- Who gives feedback, how much, and what it says on the average: whom to withdraw.
CREATE OR REPLACE VIEW {database}.feedback_sources {on_cluster} AS
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
GROUP BY tenant, source, author;
