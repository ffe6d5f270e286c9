-- What the record stage writes: one table for each topic of the request path.
--
-- Conventions of all tables here. A row is a fact with an identity; a record that arrives again is
-- the same row and merges with it, so queries read FINAL. The identity includes the tenant. Where
-- the first record wins, first_wins orders them; elsewhere the newest timestamp does. A table is
-- partitioned by the record's own time, or a repeat could land in another partition and never
-- merge. topic, kafka_partition, kafka_offset and kafka_origin say where a row came from: record
-- finds its position in them. An offset means something only with its origin: a topic that was
-- created again counts from 0. Placeholders in braces: connections/clickhouse/render.ts.

-- created_at is the broker's time because clocks of clients are not trusted: it decides partition
-- and TTL, and by first_wins which record of a request id wins. Offsets of two partitions cannot be
-- compared.
CREATE TABLE IF NOT EXISTS {table:requests} {on_cluster}
(
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset' CODEC(ZSTD(1)),
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo',
    messages Array(Tuple(role LowCardinality(String), content String)) COMMENT 'Conversation, oldest message first' CODEC(ZSTD(3)),
    question String ALIAS arrayLast(message -> tupleElement(message, 'role') = 'user', messages).content COMMENT 'Text of the last user message',
    documents Array(String) COMMENT 'Ids of documents put into the prompt' CODEC(ZSTD(1)),
    max_tokens Nullable(Int32) COMMENT 'Limit of the completion, in tokens; NULL: the arm''s default',
    temperature Nullable(Float64) COMMENT 'Sampling temperature; NULL: the arm''s default',
    top_p Nullable(Float64) COMMENT 'Nucleus sampling, 0 to 1; NULL: the arm''s default',
    seed Nullable(Int64) COMMENT 'Sampling seed; NULL: the arm''s default',
    stop Array(String) COMMENT 'Stop sequences',
    passthrough String COMMENT 'JSON: members of a chat completion passed to the endpoint unchanged; empty: none' CODEC(ZSTD(3)),
    requires Array(LowCardinality(String)) COMMENT 'Capabilities that an arm must declare: tools, vision, parameters',
    allowed_arms Array(LowCardinality(String)) COMMENT 'Arms that may answer; empty: any',
    max_cost Nullable(Float64) COMMENT 'Most that the answer may cost, in the currency of the configured prices; NULL: no limit',
    deadline_ms Nullable(Int64) COMMENT 'Deadline after created_at, ms; NULL: the default',
    cost_weight Nullable(Float64) COMMENT 'lambda_c, the price of cost in quality; NULL: the default',
    privacy_cache Bool COMMENT 'The answer may be stored: in the response cache and, with privacy_share, as an example',
    privacy_share Bool COMMENT 'The answer may help other requests of the domain, as an example',
    privacy_fresh Bool COMMENT 'The request must not be answered from the response cache',
    may_ask Bool COMMENT 'The client may be asked for feedback',
    reply_partition Nullable(Int32) COMMENT 'Partition of the responses topic that the client reads; NULL: by key',
    metadata Map(String, String) COMMENT 'Client''s metadata, uninterpreted' CODEC(ZSTD(1)),
    session String MATERIALIZED multiIf(metadata['session'] != '', metadata['session'], metadata['session_id'] != '', metadata['session_id'], metadata['conversation_id']) COMMENT 'Client''s name of the session: session, session_id or conversation_id of metadata; empty: none' CODEC(ZSTD(1)),
    created_at DateTime64(3, 'UTC') COMMENT 'When the broker received it, UTC; for imported requests, what the record says' CODEC(Delta, ZSTD(1)),
    reported_at Nullable(DateTime64(3, 'UTC')) COMMENT 'createdAt as the client gave it, UTC; NULL: not given; never used in calculations' CODEC(Delta, ZSTD(1)),
    request_hash String COMMENT 'Hash of what was asked; the same id with another hash is refused; empty: not known' CODEC(ZSTD(1)),
    trace_id String COMMENT 'W3C trace id of the record''s header traceparent; empty: none' CODEC(ZSTD(1)),
    topic LowCardinality(String) COMMENT 'Kafka topic that the row came from',
    kafka_partition Int32 COMMENT 'Partition of that topic' CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 COMMENT 'Offset in that partition' CODEC(Delta, ZSTD(1)),
    kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot and topic id that the offset belongs to; empty: not known',
    first_wins UInt64 MATERIALIZED 9223372036854775807 - toUInt64(toUnixTimestamp64Milli(created_at)) * 1048576 - kafka_offset % 1048576 COMMENT 'Version for merging: the earliest created_at wins, then the lowest offset' CODEC(Delta, ZSTD(1)),
    INDEX created_at_range created_at TYPE minmax GRANULARITY 1,
    INDEX session_bloom session TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (request_id, tenant)
{ttl:created_at}
COMMENT 'Requests as sent';

{distributed:requests:cityHash64(request_id)};

CREATE TABLE IF NOT EXISTS {table:request_arrivals} {on_cluster}
(
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset' CODEC(ZSTD(1)),
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    request_hash String COMMENT 'Hash of what was asked; repeats with another hash were refused' CODEC(ZSTD(1)),
    created_at DateTime64(3, 'UTC') COMMENT 'When the broker received it, UTC' CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String) COMMENT 'Kafka topic that the row came from',
    kafka_partition Int32 COMMENT 'Partition of that topic' CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 COMMENT 'Offset in that partition' CODEC(Delta, ZSTD(1)),
    kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot and topic id that the offset belongs to; empty: not known',
    INDEX created_at_range created_at TYPE minmax GRANULARITY 1
)
ENGINE = {replacing:kafka_offset}
PARTITION BY toYYYYMM(created_at)
ORDER BY (request_id, tenant, topic, kafka_partition, kafka_offset)
{ttl:created_at}
COMMENT 'Every arrival of a request, repeats included';

{distributed:request_arrivals:cityHash64(request_id)};

CREATE TABLE IF NOT EXISTS {table:decisions} {on_cluster}
(
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset' CODEC(ZSTD(1)),
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo',
    requests_partition Int32 COMMENT 'Partition of the requests topic that the request came from',
    requests_offset UInt64 COMMENT 'Offset in that partition' CODEC(Delta, ZSTD(1)),
    feature_version UInt32 COMMENT 'Version of the layout of the context vector',
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
        examples Array(Tuple(id String, similarity Float64, helpfulness Float64, tokens UInt32, explored Bool)),
        order LowCardinality(String)
    )) COMMENT 'Candidate arms: cost 0 to 1, context, posterior of quality, sample, bias, probability, examples, their order' CODEC(ZSTD(3)),
    arm LowCardinality(String) COMMENT 'Chosen arm; for source cache, the arm that had answered',
    probability Float64 COMMENT 'Exact probability of the choice (propensity), 0 to 1',
    alternative_arm LowCardinality(Nullable(String)) COMMENT 'Arm of the alternative answer, drawn among the rest; NULL: none',
    alternative_probability Nullable(Float64) COMMENT 'Exact probability of alternative_arm, 0 to 1; NULL: none',
    alternative Bool COMMENT 'alternative_arm gives an alternative answer too',
    threshold Float64 COMMENT 'Helpfulness threshold in force, 0 to 1',
    explored_threshold Nullable(Float64) COMMENT 'Threshold tried instead on this request, 0 to 1; NULL: none',
    load Float64 COMMENT 'Mean utilisation of the arms above the cheapest when it was decided; 1: all slots busy',
    cached_shares Map(LowCardinality(String), Float64) COMMENT 'By arm: share of the prompt that its engine was expected to have cached, 0 to 1, as its cost assumes; absent: 0' CODEC(ZSTD(1)),
    saturation Map(LowCardinality(String), Float64) COMMENT 'By arm: the part of its bias that is for its own saturation; arms without are absent',
    policy_version UInt64 COMMENT 'Version of the router policy; 0: the prior',
    helpfulness_version UInt64 COMMENT 'Version of the helpfulness model; 0: none',
    template LowCardinality(String) COMMENT 'Prompt template and its version',
    asked Bool COMMENT 'The client is asked for feedback',
    ask_probability Nullable(Float64) COMMENT 'Probability of asking, 0 to 1; 1 where arms were nearly even; NULL: not logged',
    breakers Map(LowCardinality(String), LowCardinality(String)) COMMENT 'By arm: open (excluded unless all are) or half-open (a probe); closed ones are absent',
    reuse_arm LowCardinality(String) COMMENT 'Arm of type reuse; empty: none, or no example near the request',
    reuse_example String COMMENT 'Example whose answer could be reused; of a near miss, the best that could not' CODEC(ZSTD(1)),
    reuse_similarity Float32 COMMENT 'Cosine similarity of request and that example, -1 to 1',
    reuse_quality Float32 COMMENT 'Predicted probability that its answer is right, 0 to 1',
    reuse_bound Float32 COMMENT 'Upper bound of the share of wrong reused answers in the domain, 0 to 1',
    reuse_state LowCardinality(String) COMMENT 'on: could be chosen; off: bound above the limit; held_back: another arm answers, to compare; near_miss: no answer was near and good enough',
    reuse_verifies Bool COMMENT 'The reuse arm would have been chosen; another arm answers and both are compared',
    experiment LowCardinality(String) COMMENT 'Experiment that the request takes part in; empty: none',
    variant LowCardinality(String) COMMENT 'Its variant',
    variant_is_control Bool COMMENT 'The variant is the control, with which the others are compared',
    variant_probability Float64 COMMENT 'Exact probability of the variant for what takes part, 0 to 1',
    experiment_unit String COMMENT 'Digest of the user, session, tenant or request that keeps the variant' CODEC(ZSTD(1)),
    source LowCardinality(String) DEFAULT 'routed' COMMENT 'routed; cache: an entry of the response cache; imported: the log of another system',
    cache_key String COMMENT 'Key of the response cache entry in the domain; empty: must not be cached' CODEC(ZSTD(1)),
    degraded Array(LowCardinality(String)) COMMENT 'What was missing when it was decided, such as policy or features',
    timings Array(Tuple(operator LowCardinality(String), ms Float64)) COMMENT 'Time of each operator of the plan stage, ms' CODEC(ZSTD(1)),
    created_at DateTime64(3, 'UTC') COMMENT 'When it was decided, UTC' CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String) COMMENT 'Kafka topic that the row came from',
    kafka_partition Int32 COMMENT 'Partition of that topic' CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 COMMENT 'Offset in that partition' CODEC(Delta, ZSTD(1)),
    kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot and topic id that the offset belongs to; empty: not known',
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset COMMENT 'Version for merging: the row with the lowest offset wins' CODEC(Delta, ZSTD(1)),
    INDEX created_at_range created_at TYPE minmax GRANULARITY 1
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (request_id, tenant)
{ttl:created_at}
COMMENT 'Every arm as scored, the choice and its exact probability';

{distributed:decisions:cityHash64(request_id)};

-- A request id sent twice has two responses: the duplicate must not replace the first, so it is
-- part of the key.
CREATE TABLE IF NOT EXISTS {table:responses} {on_cluster}
(
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset' CODEC(ZSTD(1)),
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo; empty: not known',
    account LowCardinality(String) COMMENT 'Id of the gateway key that asked; of the first one where it was rotated; empty: none' CODEC(ZSTD(1)),
    attempt UInt32 COMMENT 'Number of the model call, from 1; 0: no model was called',
    status LowCardinality(String) COMMENT 'ok, failed or refused',
    text String COMMENT 'Answer text' CODEC(ZSTD(3)),
    passthrough String COMMENT 'JSON with message and logprobs: what the endpoint returned besides text; empty: nothing' CODEC(ZSTD(3)),
    redacted Bool COMMENT 'Personal data was replaced in text, passthrough, stop_sequence or error_message, or one of them is withheld',
    finish_reason LowCardinality(Nullable(String)) COMMENT 'Why generation ended: stop, length, ...; NULL: no answer',
    stop_sequence Nullable(String) COMMENT 'Stop sequence of the request that ended the text; NULL: none, or unknown' CODEC(ZSTD(1)),
    arm LowCardinality(Nullable(String)) COMMENT 'Arm that answered; NULL: none did',
    model LowCardinality(Nullable(String)) COMMENT 'Model that answered; NULL: none did',
    link_policy LowCardinality(Nullable(String)) DEFAULT NULL COMMENT 'Policy of linked prefill, by kind of chunk where the prompt had both; NULL: the arm links nothing',
    failed_arms Array(Tuple(arm LowCardinality(String), code LowCardinality(String), message String, attempts UInt32, cost Float64, billed UInt32, ms Float64)) COMMENT 'Arms that failed before the one that answered, in order, with error code, the endpoint''s words, attempts, what of them was charged, and how long they took, ms',
    source LowCardinality(String) COMMENT 'generated, cache, reuse, replayed, imported or none (no answer)',
    example_ids Array(String) COMMENT 'Examples shown to the model' CODEC(ZSTD(1)),
    example_tokens UInt32 COMMENT 'Prompt tokens that these examples took, estimated',
    prompt_tokens UInt32 COMMENT 'Prompt, in tokens',
    linked_tokens UInt32 COMMENT 'Prompt tokens whose KV cache was reused by linked prefill',
    recomputed_tokens UInt32 COMMENT 'Linked tokens that were recomputed to limit the error',
    prefilled_tokens UInt32 COMMENT 'Prompt tokens computed by ordinary prefill',
    cached_tokens UInt32 COMMENT 'Prompt tokens that the endpoint had cached, charged at prices.cachedPrompt',
    cache_write_tokens UInt32 COMMENT 'Prompt tokens that the endpoint wrote to its cache, charged at prices.cacheWrite',
    completion_tokens UInt32 COMMENT 'Completion, in tokens',
    reasoning_tokens UInt32 COMMENT 'Completion tokens that are reasoning, charged at prices.reasoning',
    tokens_estimated Bool COMMENT 'Tokens, and so the cost, are estimated from the texts: the endpoint reported none that can be right',
    duplicate Bool COMMENT 'Copy of the answer to an earlier record with the same request id',
    cost Float64 COMMENT 'Cost of the answer, in the currency of the configured prices',
    failed_cost Float64 COMMENT 'The part of cost that failed calls were charged with, those of failed_arms included',
    billed UInt32 COMMENT 'Model calls that were charged, of those of attempt',
    saved_cost Float64 COMMENT 'For an answer served from the response cache or an example: the cost it avoided',
    plan_ms Float64 COMMENT 'Time in the plan stage, ms',
    queue_ms Float64 COMMENT 'On the work topic and waiting in the arm, ms',
    first_token_ms Nullable(Float64) COMMENT 'From arrival of the request to the first token, ms; NULL: not measured',
    total_ms Float64 COMMENT 'From arrival of the request to the finished answer, ms',
    error_code LowCardinality(Nullable(String)) COMMENT 'Stable error code; NULL: no error',
    error_message Nullable(String) COMMENT 'Error text; NULL: no error' CODEC(ZSTD(1)),
    degraded Array(LowCardinality(String)) COMMENT 'What was missing when it was answered, such as policy or features',
    created_at DateTime64(3, 'UTC') COMMENT 'When the answer was finished, UTC' CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String) COMMENT 'Kafka topic that the row came from',
    kafka_partition Int32 COMMENT 'Partition of that topic' CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 COMMENT 'Offset in that partition' CODEC(Delta, ZSTD(1)),
    kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot and topic id that the offset belongs to; empty: not known',
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset COMMENT 'Version for merging: the row with the lowest offset wins' CODEC(Delta, ZSTD(1)),
    INDEX created_at_range created_at TYPE minmax GRANULARITY 1
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (request_id, tenant, duplicate)
{ttl:created_at}
COMMENT 'Final answers; a repeated id has another row with duplicate = true';

{distributed:responses:cityHash64(request_id)};

CREATE TABLE IF NOT EXISTS {table:alternative_answers} {on_cluster}
(
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset' CODEC(ZSTD(1)),
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo; empty: not known',
    account LowCardinality(String) COMMENT 'Id of the gateway key that asked; of the first one where it was rotated; empty: none' CODEC(ZSTD(1)),
    attempt UInt32 COMMENT 'Number of the model call, from 1; 0: no model was called',
    status LowCardinality(String) COMMENT 'ok, failed or refused',
    text String COMMENT 'Answer text' CODEC(ZSTD(3)),
    passthrough String COMMENT 'JSON with message and logprobs: what the endpoint returned besides text; empty: nothing' CODEC(ZSTD(3)),
    redacted Bool COMMENT 'Personal data was replaced in text, passthrough, stop_sequence or error_message, or one of them is withheld',
    finish_reason LowCardinality(Nullable(String)) COMMENT 'Why generation ended: stop, length, ...; NULL: no answer',
    stop_sequence Nullable(String) COMMENT 'Stop sequence of the request that ended the text; NULL: none, or unknown' CODEC(ZSTD(1)),
    arm LowCardinality(Nullable(String)) COMMENT 'Arm that answered; NULL: none did',
    model LowCardinality(Nullable(String)) COMMENT 'Model that answered; NULL: none did',
    link_policy LowCardinality(Nullable(String)) DEFAULT NULL COMMENT 'Policy of linked prefill, by kind of chunk where the prompt had both; NULL: the arm links nothing',
    failed_arms Array(Tuple(arm LowCardinality(String), code LowCardinality(String), attempts UInt32, cost Float64, billed UInt32, ms Float64)) COMMENT 'As in responses; no other arm takes over, so it is empty',
    source LowCardinality(String) COMMENT 'generated, cache, reuse, replayed, imported or none (no answer)',
    example_ids Array(String) COMMENT 'Examples shown to the model' CODEC(ZSTD(1)),
    example_tokens UInt32 COMMENT 'Prompt tokens that these examples took, estimated',
    prompt_tokens UInt32 COMMENT 'Prompt, in tokens',
    linked_tokens UInt32 COMMENT 'Prompt tokens whose KV cache was reused by linked prefill',
    recomputed_tokens UInt32 COMMENT 'Linked tokens that were recomputed to limit the error',
    prefilled_tokens UInt32 COMMENT 'Prompt tokens computed by ordinary prefill',
    cached_tokens UInt32 COMMENT 'Prompt tokens that the endpoint had cached, charged at prices.cachedPrompt',
    cache_write_tokens UInt32 COMMENT 'Prompt tokens that the endpoint wrote to its cache, charged at prices.cacheWrite',
    completion_tokens UInt32 COMMENT 'Completion, in tokens',
    reasoning_tokens UInt32 COMMENT 'Completion tokens that are reasoning, charged at prices.reasoning',
    tokens_estimated Bool COMMENT 'Tokens, and so the cost, are estimated from the texts: the endpoint reported none that can be right',
    duplicate Bool COMMENT 'Copy of the answer to an earlier record with the same request id',
    cost Float64 COMMENT 'Cost of the answer, in the currency of the configured prices',
    failed_cost Float64 COMMENT 'The part of cost that failed calls were charged with, those of failed_arms included',
    billed UInt32 COMMENT 'Model calls that were charged, of those of attempt',
    saved_cost Float64 COMMENT 'As in responses; never served from the cache, so it is 0',
    plan_ms Float64 COMMENT 'Time in the plan stage, ms',
    queue_ms Float64 COMMENT 'On the work topic and waiting in the arm, ms',
    first_token_ms Nullable(Float64) COMMENT 'From arrival of the request to the first token, ms; NULL: not measured',
    total_ms Float64 COMMENT 'From arrival of the request to the finished answer, ms',
    error_code LowCardinality(Nullable(String)) COMMENT 'Stable error code; NULL: no error',
    error_message Nullable(String) COMMENT 'Error text; NULL: no error' CODEC(ZSTD(1)),
    degraded Array(LowCardinality(String)) COMMENT 'What was missing when it was answered, such as policy or features',
    created_at DateTime64(3, 'UTC') COMMENT 'When the answer was finished, UTC' CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String) COMMENT 'Kafka topic that the row came from',
    kafka_partition Int32 COMMENT 'Partition of that topic' CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 COMMENT 'Offset in that partition' CODEC(Delta, ZSTD(1)),
    kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot and topic id that the offset belongs to; empty: not known',
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset COMMENT 'Version for merging: the row with the lowest offset wins' CODEC(Delta, ZSTD(1)),
    INDEX created_at_range created_at TYPE minmax GRANULARITY 1
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (request_id, tenant, duplicate)
{ttl:created_at}
COMMENT 'Alternative answers, for comparison';

{distributed:alternative_answers:cityHash64(request_id)};

-- Erasing a request keeps this row: it names neither request nor tenant, and the money is spent.
CREATE TABLE IF NOT EXISTS {table:account_costs} {on_cluster}
(
    account String COMMENT 'Id of the gateway key; of the first one where it was rotated' CODEC(ZSTD(1)),
    day Date COMMENT 'Day of created_at, UTC',
    hash String COMMENT 'Hash of tenant and request id' CODEC(ZSTD(1)),
    cost Float64 COMMENT 'Cost of the answer, in the currency of the configured prices',
    estimated Bool COMMENT 'The cost is estimated: the endpoint reported no tokens that can be right',
    created_at DateTime64(3, 'UTC') COMMENT 'When the answer was finished, UTC' CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String) COMMENT 'Kafka topic that the row came from',
    kafka_partition Int32 COMMENT 'Partition of that topic' CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 COMMENT 'Offset in that partition' CODEC(Delta, ZSTD(1)),
    kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot and topic id that the offset belongs to; empty: not known'
)
ENGINE = {replacing:kafka_offset}
PARTITION BY toYYYYMM(day)
ORDER BY (account, day, hash)
TTL day + toIntervalDay(400)
COMMENT 'What answers cost by gateway key, for spend limits; kept for 400 days';

{distributed:account_costs:cityHash64(account)};

-- Bytes are stored in base64 because rows travel as JSON; key, value and headers decode them.
CREATE TABLE IF NOT EXISTS {table:dead_letters} {on_cluster}
(
    source_topic LowCardinality(String) COMMENT 'Topic of the record',
    source_partition Int32 COMMENT 'Partition of the record',
    source_offset UInt64 COMMENT 'Offset of the record',
    stage LowCardinality(String) COMMENT 'Stage that gave up',
    tenant LowCardinality(String) COMMENT 'Tenant that owns the record',
    code LowCardinality(String) COMMENT 'Stable error code',
    reason String COMMENT 'Error text' CODEC(ZSTD(1)),
    key_base64 Nullable(String) COMMENT 'Key, in base64; NULL: none' CODEC(ZSTD(1)),
    value_base64 Nullable(String) COMMENT 'Value, in base64; NULL: none' CODEC(ZSTD(3)),
    headers_base64 Map(String, String) COMMENT 'Headers, values in base64' CODEC(ZSTD(1)),
    key Nullable(String) ALIAS base64Decode(key_base64) COMMENT 'Key as bytes',
    value Nullable(String) ALIAS base64Decode(value_base64) COMMENT 'Value as bytes',
    headers Map(String, String) ALIAS mapApply((name, text) -> (name, base64Decode(text)), headers_base64) COMMENT 'Headers, values as bytes',
    source_timestamp Nullable(DateTime64(3, 'UTC')) COMMENT 'Kafka timestamp of the record, UTC; NULL: not known',
    created_at DateTime64(3, 'UTC') COMMENT 'When it was dead-lettered, UTC' CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String) COMMENT 'Kafka topic that the row came from',
    kafka_partition Int32 COMMENT 'Partition of that topic' CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 COMMENT 'Offset in that partition' CODEC(Delta, ZSTD(1)),
    kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot and topic id that the offset belongs to; empty: not known',
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset COMMENT 'Version for merging: the row with the lowest offset wins' CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (source_topic, source_partition, source_offset, stage)
{ttl:created_at}
COMMENT 'Records that could not be processed, with their bytes';

{distributed:dead_letters:cityHash64(source_topic, source_partition, source_offset)};

CREATE TABLE IF NOT EXISTS {table:erasures} {on_cluster}
(
    hash String COMMENT 'Hash of a request, a tenant or the position of a dead letter',
    erasure_id String COMMENT 'Id of the erasure',
    before Nullable(DateTime64(3, 'UTC')) COMMENT 'For a tenant: only what arrived before, UTC; NULL: whenever it arrives',
    created_at DateTime64(3, 'UTC') COMMENT 'When it was erased, UTC' CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String) COMMENT 'Kafka topic that the row came from; empty: written directly by precedent forget',
    kafka_partition Int32 COMMENT 'Partition of that topic' CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 COMMENT 'Offset in that partition' CODEC(Delta, ZSTD(1)),
    kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot and topic id that the offset belongs to; empty: not known'
)
ENGINE = {replacing:kafka_offset}
ORDER BY (hash, erasure_id)
COMMENT 'Hashes of what was erased and must not be recorded again';

{distributed:erasures:cityHash64(hash)};

CREATE TABLE IF NOT EXISTS {table:prefill_samples} {on_cluster}
(
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset' CODEC(ZSTD(1)),
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    arm LowCardinality(String) COMMENT 'Arm that was measured',
    model LowCardinality(String) DEFAULT '' COMMENT 'SHA-256 of the model file; empty: not known',
    policy LowCardinality(String) COMMENT 'Policy of linked prefill that was measured',
    convention LowCardinality(String) DEFAULT '' COMMENT 'What chunks are prefilled behind when they are cached',
    recomputed_share Float64 COMMENT 'Share of linked tokens that were recomputed, 0 to 1',
    kl Float64 COMMENT 'Mean KL divergence from the full prefill, teacher-forced, nats',
    agreement Float64 COMMENT 'Share of equal greedy tokens, 0 to 1',
    created_at DateTime64(3, 'UTC') COMMENT 'When it was measured, UTC' CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String) COMMENT 'Kafka topic that the row came from',
    kafka_partition Int32 COMMENT 'Partition of that topic' CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 COMMENT 'Offset in that partition' CODEC(Delta, ZSTD(1)),
    kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot and topic id that the offset belongs to; empty: not known',
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset COMMENT 'Version for merging: the row with the lowest offset wins' CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (request_id, tenant, arm, policy)
{ttl:created_at}
COMMENT 'Linked prefill beside a full prefill of the same prompt';

{distributed:prefill_samples:cityHash64(request_id)};
