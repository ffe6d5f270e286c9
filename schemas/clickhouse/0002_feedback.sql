-- Feedback, withdrawals and limits of it, and the reward computed from it.

CREATE TABLE IF NOT EXISTS {table:feedback} {on_cluster}
(
    feedback_id String COMMENT 'Feedback id, the idempotency key' CODEC(ZSTD(1)),
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset' CODEC(ZSTD(1)),
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    kind LowCardinality(String) COMMENT 'thumbs, score, preference, comparison, reward or correction',
    value Nullable(Float64) COMMENT 'Value in the range of its kind; NULL: a correction or a withdrawal',
    range_low Nullable(Float64) COMMENT 'Lowest value of a score; NULL: other kinds',
    range_high Nullable(Float64) COMMENT 'Highest value of a score; NULL: other kinds',
    source LowCardinality(String) COMMENT 'person, judge or system',
    author LowCardinality(String) COMMENT 'Name within the source, by which all of it can be withdrawn; empty: not given',
    against LowCardinality(Nullable(String)) COMMENT 'Arm of the other answer, for preference and comparison; NULL: other kinds',
    text Nullable(String) COMMENT 'Corrected answer; NULL: other kinds' CODEC(ZSTD(3)),
    withdraws Nullable(String) COMMENT 'Id of feedback that no longer counts; NULL: none',
    session String COMMENT 'Session whose outcome this is; empty: feedback on this request alone' CODEC(ZSTD(1)),
    session_requests UInt32 DEFAULT 1 COMMENT 'Requests over which the outcome of the session is shared; its weight is one over this',
    comment Nullable(String) COMMENT 'Comment of the author; NULL: none' CODEC(ZSTD(3)),
    created_at DateTime64(3, 'UTC') COMMENT 'When the broker received it, UTC' CODEC(Delta, ZSTD(1)),
    reported_at Nullable(DateTime64(3, 'UTC')) COMMENT 'createdAt as the client gave it, UTC; NULL: not given; never used in calculations' CODEC(Delta, ZSTD(1)),
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When it was inserted into this table, UTC' CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String) COMMENT 'Kafka topic that the row came from',
    kafka_partition Int32 COMMENT 'Partition of that topic' CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 COMMENT 'Offset in that partition' CODEC(Delta, ZSTD(1)),
    kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot and topic id that the offset belongs to; empty: not known',
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset COMMENT 'Version for merging: the row with the lowest offset wins' CODEC(Delta, ZSTD(1)),
    INDEX created_at_range created_at TYPE minmax GRANULARITY 1,
    INDEX recorded_at_range recorded_at TYPE minmax GRANULARITY 1
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (request_id, tenant, feedback_id)
{ttl:created_at}
COMMENT 'Feedback as given, withdrawn feedback included';

{distributed:feedback:cityHash64(request_id)};

CREATE TABLE IF NOT EXISTS {table:withdrawals} {on_cluster}
(
    withdrawal_id String COMMENT 'Withdrawal id, the idempotency key',
    tenant Nullable(String) COMMENT 'Tenant; NULL: any',
    source Nullable(String) COMMENT 'person, judge or system; NULL: any',
    author Nullable(String) COMMENT 'Author; empty: feedback without an author; NULL: any',
    since Nullable(DateTime64(3, 'UTC')) COMMENT 'Earliest created_at of the feedback, UTC; NULL: any',
    until Nullable(DateTime64(3, 'UTC')) COMMENT 'created_at from which feedback counts again, UTC; NULL: any',
    restores Nullable(String) COMMENT 'Id of a withdrawal that is taken back; NULL: none',
    comment Nullable(String) COMMENT 'Why; NULL: not given',
    created_at DateTime64(3, 'UTC') COMMENT 'When the record was written, UTC' CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String) COMMENT 'Kafka topic that the row came from',
    kafka_partition Int32 COMMENT 'Partition of that topic' CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 COMMENT 'Offset in that partition' CODEC(Delta, ZSTD(1)),
    kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot and topic id that the offset belongs to; empty: not known',
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset COMMENT 'Version for merging: the row with the lowest offset wins' CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:first_wins}
ORDER BY (withdrawal_id)
COMMENT 'Sources, authors and times whose feedback no longer counts';

{distributed:withdrawals:cityHash64(withdrawal_id)};

CREATE TABLE IF NOT EXISTS {table:feedback_excess} {on_cluster}
(
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset' CODEC(ZSTD(1)),
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    feedback_id String COMMENT 'Feedback id' CODEC(ZSTD(1)),
    created_at DateTime64(3, 'UTC') COMMENT 'created_at of the feedback, UTC' CODEC(Delta, ZSTD(1)),
    excess Bool COMMENT 'true: it does not count; false: it counts again',
    version UInt64 COMMENT 'Version for merging, in microseconds since the epoch; the newest wins' CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:version}
ORDER BY (request_id, tenant, feedback_id)
{ttl:created_at}
COMMENT 'Feedback above the hourly limits of its source or author';

{distributed:feedback_excess:cityHash64(request_id)};

-- Recomputed for whatever changed, never incremented: dropping and recomputing gives the same
-- numbers.
CREATE TABLE IF NOT EXISTS {table:rewards} {on_cluster}
(
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset' CODEC(ZSTD(1)),
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    reward Float64 COMMENT 'Weighted mean of the newest feedback of each source and kind, 0 to 1',
    weight Float64 COMMENT 'Sum of weights: person 1, system 1, judge 0.3, outcomes of sessions divided by their requests; 0: no feedback counts',
    of_session Bool COMMENT 'Only an outcome of the session counts: the router learns from it, but the answer was not rated itself',
    counted UInt32 COMMENT 'Feedback that counts: at most one for each source and kind',
    received UInt32 COMMENT 'All feedback on the request, withdrawn and pairwise included',
    newest_at DateTime64(3, 'UTC') COMMENT 'Newest feedback that counts, else newest of all, UTC' CODEC(Delta, ZSTD(1)),
    arm LowCardinality(String) COMMENT 'Arm that answered; empty: none did, or the answer is not recorded yet',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain; empty: the answer is not recorded yet',
    account LowCardinality(String) COMMENT 'Id of the gateway key that asked; of the first one where it was rotated; empty: none',
    policy_version UInt64 COMMENT 'Version of the router policy that chose; 0: the prior, or nothing was chosen',
    version UInt64 COMMENT 'Version for merging, in microseconds since the epoch; the newest wins' CODEC(Delta, ZSTD(1)),
    INDEX newest_at_range newest_at TYPE minmax GRANULARITY 1
)
ENGINE = {replacing:version}
ORDER BY (request_id, tenant)
{ttl:newest_at}
COMMENT 'Reward of a request: its feedback as one number';

{distributed:rewards:cityHash64(request_id)};

-- A row also says that the request is not to be judged again.
CREATE TABLE IF NOT EXISTS {table:judgements} {on_cluster}
(
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset' CODEC(ZSTD(1)),
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    arm LowCardinality(String) COMMENT 'Arm that answered',
    other_arm LowCardinality(String) COMMENT 'Arm of the other answer',
    other LowCardinality(String) COMMENT 'Origin of the other answer: alternative (recorded), generated (for the comparison, not kept)',
    judge LowCardinality(String) COMMENT 'Arm and model of the judge, as the author of the feedback',
    probability Float64 COMMENT 'Probability with which the request was drawn, 0 to 1',
    score Nullable(Float64) COMMENT 'How much better the answer of arm is, -3 to 3; NULL: the verdict was unreadable',
    tokens UInt64 COMMENT 'Tokens of the verdicts and of a generated answer',
    cost Float64 COMMENT 'Cost of judging, in the currency of the configured prices',
    judged_at DateTime64(3, 'UTC') COMMENT 'When it was judged, UTC' CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:judged_at}
ORDER BY (request_id, tenant)
{ttl:judged_at}
COMMENT 'Comparisons by the automatic judge; its verdict itself is feedback';

{distributed:judgements:cityHash64(request_id)};
