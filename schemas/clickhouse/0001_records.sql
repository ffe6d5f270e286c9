-- What record writes: one table a topic, and example_uses, which is derived from decisions.
--
-- Rows are facts with an identity; a record that arrives again is the same row, which FINAL shows once. Identity never rests on an id
-- alone: it holds the tenant as well. "First wins" tables keep the lowest offset of an identity, the others the newest Kafka timestamp.
-- Partitioned by the record's own time, or a record that arrives again later would never merge with itself.
-- topic, kafka_partition, kafka_offset say where a row came from: record finds its position in them.
-- Placeholders in braces are explained in connections/clickhouse/render.ts.

CREATE TABLE IF NOT EXISTS {table:requests} {on_cluster}
(
    request_id String COMMENT 'The client''s, or topic-partition-offset' CODEC(ZSTD(1)),
    tenant LowCardinality(String),
    domain LowCardinality(String) COMMENT 'Sharing domain, tenant/domain',
    messages Array(Tuple(role LowCardinality(String), content String)) COMMENT 'Oldest first' CODEC(ZSTD(3)),
    question String ALIAS arrayLast(message -> message.role = 'user', messages).content COMMENT 'The last user turn',
    documents Array(String) CODEC(ZSTD(1)),
    max_tokens Nullable(Int32),
    temperature Nullable(Float64),
    top_p Nullable(Float64),
    seed Nullable(Int64),
    stop Array(String),
    allowed_arms Array(LowCardinality(String)) COMMENT 'Empty: any',
    max_cost Nullable(Float64),
    deadline_ms Nullable(Int64) COMMENT 'After created_at; NULL: the default',
    cost_weight Nullable(Float64) COMMENT 'lambda_c; NULL: the default',
    privacy_cache Bool,
    privacy_share Bool,
    privacy_fresh Bool,
    may_ask Bool,
    reply_partition Nullable(Int32),
    metadata Map(String, String) CODEC(ZSTD(1)),
    created_at DateTime64(3, 'UTC') COMMENT 'The client''s, or the Kafka timestamp' CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String),
    kafka_partition Int32 CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 CODEC(Delta, ZSTD(1)),
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset CODEC(Delta, ZSTD(1)),
    INDEX created_at_range created_at TYPE minmax GRANULARITY 1
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (request_id, tenant)
{ttl:created_at};

{distributed:requests:cityHash64(request_id)};

CREATE TABLE IF NOT EXISTS {table:decisions} {on_cluster}
(
    request_id String CODEC(ZSTD(1)),
    tenant LowCardinality(String),
    domain LowCardinality(String) COMMENT 'Sharing domain, tenant/domain',
    requests_partition Int32 COMMENT 'Partition of requests that it came from',
    requests_offset UInt64 CODEC(Delta, ZSTD(1)),
    feature_version UInt32 COMMENT 'Layout of arms.context',
    arms Array(Tuple(
        arm LowCardinality(String),
        model LowCardinality(String),
        cost Float64,
        context Array(Float64),
        mean Float64,
        deviation Float64,
        sampled Float64,
        bias Float64,
        probability Float64,
        examples Array(Tuple(id String, similarity Float64, helpfulness Float64, tokens UInt32, explored Bool))
    )) COMMENT 'Every arm that could be chosen, as it looked (spec 20)' CODEC(ZSTD(3)),
    arm LowCardinality(String) COMMENT 'The chosen one',
    probability Float64 COMMENT 'Exact probability of the choice',
    second_arm LowCardinality(Nullable(String)),
    second_probability Nullable(Float64),
    threshold Float64 COMMENT 'Helpfulness threshold in force',
    explored_threshold Nullable(Float64),
    load Float64,
    policy_version UInt64 COMMENT '0: the prior',
    proxy_version UInt64 COMMENT '0: none',
    template LowCardinality(String),
    asked Bool COMMENT 'Feedback is asked for',
    degraded Array(LowCardinality(String)) COMMENT 'What was missing',
    timings Array(Tuple(operator LowCardinality(String), ms Float64)) CODEC(ZSTD(1)),
    created_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String),
    kafka_partition Int32 CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 CODEC(Delta, ZSTD(1)),
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset CODEC(Delta, ZSTD(1)),
    INDEX created_at_range created_at TYPE minmax GRANULARITY 1
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (request_id, tenant)
{ttl:created_at};

{distributed:decisions:cityHash64(request_id)};

-- A request id that comes twice has two responses: the second, marked duplicate, must not stand in for the first.
CREATE TABLE IF NOT EXISTS {table:responses} {on_cluster}
(
    request_id String CODEC(ZSTD(1)),
    tenant LowCardinality(String),
    attempt UInt32 COMMENT '0: no model was called',
    status LowCardinality(String) COMMENT 'ok, failed, refused',
    text String CODEC(ZSTD(3)),
    finish_reason LowCardinality(Nullable(String)),
    arm LowCardinality(Nullable(String)),
    model LowCardinality(Nullable(String)),
    source LowCardinality(String) COMMENT 'generated, cache, reuse, replayed, none',
    example_ids Array(String) COMMENT 'Shown to the model' CODEC(ZSTD(1)),
    prompt_tokens UInt32,
    linked_tokens UInt32,
    recomputed_tokens UInt32,
    prefilled_tokens UInt32,
    completion_tokens UInt32,
    duplicate Bool COMMENT 'A copy of the response to an earlier record with this id',
    cost Float64 COMMENT 'In the currency of the prices',
    plan_ms Float64,
    queue_ms Float64,
    first_token_ms Nullable(Float64),
    total_ms Float64 COMMENT 'created_at of the request to finished',
    error_code LowCardinality(Nullable(String)),
    error_message Nullable(String) CODEC(ZSTD(1)),
    degraded Array(LowCardinality(String)),
    created_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String),
    kafka_partition Int32 CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 CODEC(Delta, ZSTD(1)),
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset CODEC(Delta, ZSTD(1)),
    INDEX created_at_range created_at TYPE minmax GRANULARITY 1
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (request_id, tenant, duplicate)
{ttl:created_at};

{distributed:responses:cityHash64(request_id)};

CREATE TABLE IF NOT EXISTS {table:alternatives} {on_cluster}
(
    request_id String CODEC(ZSTD(1)),
    tenant LowCardinality(String),
    attempt UInt32,
    status LowCardinality(String),
    text String CODEC(ZSTD(3)),
    finish_reason LowCardinality(Nullable(String)),
    arm LowCardinality(Nullable(String)),
    model LowCardinality(Nullable(String)),
    source LowCardinality(String),
    example_ids Array(String) CODEC(ZSTD(1)),
    prompt_tokens UInt32,
    linked_tokens UInt32,
    recomputed_tokens UInt32,
    prefilled_tokens UInt32,
    completion_tokens UInt32,
    duplicate Bool,
    cost Float64,
    plan_ms Float64,
    queue_ms Float64,
    first_token_ms Nullable(Float64),
    total_ms Float64,
    error_code LowCardinality(Nullable(String)),
    error_message Nullable(String) CODEC(ZSTD(1)),
    degraded Array(LowCardinality(String)),
    created_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String),
    kafka_partition Int32 CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 CODEC(Delta, ZSTD(1)),
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset CODEC(Delta, ZSTD(1)),
    INDEX created_at_range created_at TYPE minmax GRANULARITY 1
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (request_id, tenant, duplicate)
{ttl:created_at};

{distributed:alternatives:cityHash64(request_id)};

-- One row for every example that the chosen arm was shown.
CREATE TABLE IF NOT EXISTS {table:example_uses} {on_cluster}
(
    example_id String CODEC(ZSTD(1)),
    request_id String CODEC(ZSTD(1)),
    tenant LowCardinality(String),
    domain LowCardinality(String),
    arm LowCardinality(String),
    model LowCardinality(String),
    position UInt16 COMMENT 'In the prompt, from 1; the most helpful stands last',
    similarity Float64 COMMENT 'Cosine',
    helpfulness Float64,
    tokens UInt32,
    explored Bool COMMENT 'Added at random',
    arm_cost Float64 COMMENT 'Normalised cost of the arm, [0, 1]',
    arm_mean Float64 COMMENT 'The quality that the router predicted of it',
    created_at DateTime64(3, 'UTC') COMMENT 'Of the decision' CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String),
    kafka_partition Int32 CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 CODEC(Delta, ZSTD(1)),
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset CODEC(Delta, ZSTD(1)),
    INDEX created_at_range created_at TYPE minmax GRANULARITY 1,
    INDEX request_id_filter request_id TYPE bloom_filter(0.01) GRANULARITY 4
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (example_id, request_id, tenant)
{ttl:created_at};

{distributed:example_uses:cityHash64(request_id)};

CREATE TABLE IF NOT EXISTS {table:feedback} {on_cluster}
(
    feedback_id String COMMENT 'Idempotency key' CODEC(ZSTD(1)),
    request_id String CODEC(ZSTD(1)),
    tenant LowCardinality(String),
    kind LowCardinality(String) COMMENT 'thumbs, score, preference, comparison, reward, correction',
    value Nullable(Float64),
    range_low Nullable(Float64),
    range_high Nullable(Float64),
    source LowCardinality(String) COMMENT 'person, judge, system',
    against LowCardinality(Nullable(String)) COMMENT 'Arm of the other response',
    text Nullable(String) COMMENT 'Of a correction' CODEC(ZSTD(3)),
    withdraws Nullable(String) COMMENT 'Feedback that no longer counts',
    comment Nullable(String) CODEC(ZSTD(3)),
    created_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    recorded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When it came to this table: what is new since then' CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String),
    kafka_partition Int32 CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 CODEC(Delta, ZSTD(1)),
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset CODEC(Delta, ZSTD(1)),
    INDEX created_at_range created_at TYPE minmax GRANULARITY 1,
    INDEX recorded_at_range recorded_at TYPE minmax GRANULARITY 1
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (request_id, tenant, feedback_id)
{ttl:created_at};

{distributed:feedback:cityHash64(request_id)};

-- The pool as the topic has it: the newest state of an example; a tombstone takes its texts away and leaves deleted = 1.
-- Not partitioned: a tombstone knows no creation time, and its row must merge with the one that it replaces.
CREATE TABLE IF NOT EXISTS {table:examples} {on_cluster}
(
    example_id String CODEC(ZSTD(1)),
    tenant LowCardinality(String),
    domain LowCardinality(String) COMMENT 'Sharing domain, tenant/domain',
    request String CODEC(ZSTD(3)),
    response String CODEC(ZSTD(3)),
    embedding Array(Float32) COMMENT 'Of the request, unit length' CODEC(ZSTD(1)),
    embedding_model LowCardinality(String),
    source_arm LowCardinality(String),
    source_model LowCardinality(String),
    source_request_id Nullable(String),
    quality Float64 COMMENT '[0, 1]',
    bytes UInt64,
    expires_at Nullable(DateTime64(3, 'UTC')),
    replays UInt32,
    deleted Bool,
    created_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    kafka_timestamp DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String),
    kafka_partition Int32 CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:kafka_timestamp}
ORDER BY (domain, example_id);

{distributed:examples:cityHash64(example_id)};

-- Every version that was ever published; the topic keeps only the newest.
CREATE TABLE IF NOT EXISTS {table:policies} {on_cluster}
(
    name LowCardinality(String) COMMENT 'router, threshold, proxy, cache',
    tenant LowCardinality(String),
    version UInt64,
    kind LowCardinality(String) COMMENT 'How to read the body',
    body String COMMENT 'JSON, or empty where referenced' CODEC(ZSTD(3)),
    reference Nullable(String),
    hash Nullable(String) COMMENT 'sha256 of a referenced body',
    feature_version UInt32,
    trained_through Nullable(DateTime64(3, 'UTC')) COMMENT 'Newest data in it',
    metrics Map(String, Float64),
    revert_of Nullable(UInt64),
    created_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    kafka_timestamp DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String),
    kafka_partition Int32 CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:kafka_timestamp}
ORDER BY (name, tenant, version);

{distributed:policies:cityHash64(name)};

CREATE TABLE IF NOT EXISTS {table:replays} {on_cluster}
(
    run_id String CODEC(ZSTD(1)),
    tenant LowCardinality(String),
    example_id String CODEC(ZSTD(1)),
    attempt UInt32,
    old_quality Float64,
    new_quality Nullable(Float64),
    tokens UInt64,
    cost Float64,
    outcome LowCardinality(String),
    created_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String),
    kafka_partition Int32 CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 CODEC(Delta, ZSTD(1)),
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (example_id, tenant, run_id, attempt)
{ttl:created_at};

{distributed:replays:cityHash64(example_id)};

-- Bytes are kept in base64, because rows travel as JSON; key, value and headers read as they were.
CREATE TABLE IF NOT EXISTS {table:dead_letters} {on_cluster}
(
    source_topic LowCardinality(String),
    source_partition Int32,
    source_offset UInt64,
    stage LowCardinality(String),
    tenant LowCardinality(String),
    code LowCardinality(String),
    reason String CODEC(ZSTD(1)),
    key_base64 Nullable(String) CODEC(ZSTD(1)),
    value_base64 Nullable(String) CODEC(ZSTD(3)),
    headers_base64 Map(String, String) CODEC(ZSTD(1)),
    key Nullable(String) ALIAS base64Decode(key_base64),
    value Nullable(String) ALIAS base64Decode(value_base64),
    headers Map(String, String) ALIAS mapApply((name, text) -> (name, base64Decode(text)), headers_base64),
    source_timestamp Nullable(DateTime64(3, 'UTC')),
    created_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String),
    kafka_partition Int32 CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 CODEC(Delta, ZSTD(1)),
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (source_topic, source_partition, source_offset, stage)
{ttl:created_at};

{distributed:dead_letters:cityHash64(source_topic, source_partition, source_offset)};

CREATE TABLE IF NOT EXISTS {table:prefill_samples} {on_cluster}
(
    request_id String CODEC(ZSTD(1)),
    tenant LowCardinality(String),
    arm LowCardinality(String),
    policy LowCardinality(String),
    recomputed_share Float64,
    kl Float64 COMMENT 'Teacher-forced mean, nats',
    agreement Float64 COMMENT 'Share of equal greedy tokens',
    created_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String),
    kafka_partition Int32 CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 CODEC(Delta, ZSTD(1)),
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (request_id, tenant, arm, policy)
{ttl:created_at};

{distributed:prefill_samples:cityHash64(request_id)};

CREATE TABLE IF NOT EXISTS {table:observations} {on_cluster}
(
    request_id String COMMENT 'Of the observed request, or topic-partition-offset' CODEC(ZSTD(1)),
    tenant LowCardinality(String),
    domain LowCardinality(String) COMMENT 'Sharing domain, tenant/domain',
    messages Array(Tuple(role LowCardinality(String), content String)) CODEC(ZSTD(3)),
    question String ALIAS arrayLast(message -> message.role = 'user', messages).content,
    text String COMMENT 'The answer' CODEC(ZSTD(3)),
    source_arm LowCardinality(String),
    source_model LowCardinality(String),
    source_request_id Nullable(String),
    quality Nullable(Float64),
    privacy_cache Bool,
    privacy_share Bool,
    metadata Map(String, String) CODEC(ZSTD(1)),
    created_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String),
    kafka_partition Int32 CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 CODEC(Delta, ZSTD(1)),
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (request_id, tenant, source_arm, source_model)
{ttl:created_at};

{distributed:observations:cityHash64(request_id)};
