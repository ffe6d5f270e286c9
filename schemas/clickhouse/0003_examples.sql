-- Examples: where they come from, how they are used, admitted and replayed.

CREATE TABLE IF NOT EXISTS {table:observations} {on_cluster}
(
    request_id String COMMENT 'Id of the observed request, or topic-partition-offset' CODEC(ZSTD(1)),
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo',
    messages Array(Tuple(role LowCardinality(String), content String)) COMMENT 'Conversation, oldest message first' CODEC(ZSTD(3)),
    question String ALIAS arrayLast(message -> tupleElement(message, 'role') = 'user', messages).content COMMENT 'Text of the last user message',
    text String COMMENT 'Answer text' CODEC(ZSTD(3)),
    source_arm LowCardinality(String) COMMENT 'Arm or system that answered',
    source_model LowCardinality(String) COMMENT 'Model that answered',
    source_request_id Nullable(String) COMMENT 'Id in the other system; NULL: not given',
    quality Nullable(Float64) COMMENT 'Quality of the answer, 0 to 1; NULL: not known',
    privacy_cache Bool COMMENT 'The answer may be stored: in the response cache and, with privacy_share, as an example',
    privacy_share Bool COMMENT 'The answer may help other requests of the domain, as an example',
    metadata Map(String, String) COMMENT 'Client''s metadata, uninterpreted' CODEC(ZSTD(1)),
    created_at DateTime64(3, 'UTC') COMMENT 'When the broker received it, UTC' CODEC(Delta, ZSTD(1)),
    reported_at Nullable(DateTime64(3, 'UTC')) COMMENT 'createdAt as the client gave it, UTC; NULL: not given; never used in calculations' CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String) COMMENT 'Kafka topic that the row came from',
    kafka_partition Int32 COMMENT 'Partition of that topic' CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 COMMENT 'Offset in that partition' CODEC(Delta, ZSTD(1)),
    kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot and topic id that the offset belongs to; empty: not known',
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset COMMENT 'Version for merging: the row with the lowest offset wins' CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (request_id, tenant, source_arm, source_model)
{ttl:created_at}
COMMENT 'Answers from other systems, offered as examples';

{distributed:observations:cityHash64(request_id)};

-- Not partitioned: a tombstone carries no creation time, and its row must merge with the one it
-- replaces.
CREATE TABLE IF NOT EXISTS {table:examples} {on_cluster}
(
    example_id String COMMENT 'Example id, derived from domain, request and response' CODEC(ZSTD(1)),
    tenant LowCardinality(String) COMMENT 'Tenant that owns the example',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo',
    request String COMMENT 'Request text' CODEC(ZSTD(3)),
    response String COMMENT 'Answer text' CODEC(ZSTD(3)),
    embedding Array(Float32) COMMENT 'Embedding of the request, unit length' CODEC(ZSTD(1)),
    embedding_model LowCardinality(String) COMMENT 'Model of the embedding',
    source_arm LowCardinality(String) COMMENT 'Arm that answered',
    source_model LowCardinality(String) COMMENT 'Model that answered',
    source_request_id Nullable(String) COMMENT 'Request that it came from; NULL: another system',
    quality Float64 COMMENT 'Quality of the answer, 0 to 1',
    bytes UInt64 COMMENT 'Size of texts and embedding, bytes',
    expires_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it expires, UTC; NULL: never',
    replays UInt32 COMMENT 'Number of example replays, at most 5',
    deleted Bool COMMENT 'Evicted or withdrawn; its texts are gone',
    created_at DateTime64(3, 'UTC') COMMENT 'When it was admitted, UTC' CODEC(Delta, ZSTD(1)),
    kafka_timestamp DateTime64(3, 'UTC') COMMENT 'Timestamp of the record in Kafka, UTC; the newest state wins' CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String) COMMENT 'Kafka topic that the row came from',
    kafka_partition Int32 COMMENT 'Partition of that topic' CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 COMMENT 'Offset in that partition' CODEC(Delta, ZSTD(1)),
    kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot and topic id that the offset belongs to; empty: not known'
)
ENGINE = {replacing:kafka_timestamp}
ORDER BY (domain, example_id)
COMMENT 'Examples in their newest state; a removed one has no texts';

{distributed:examples:cityHash64(example_id)};

CREATE TABLE IF NOT EXISTS {table:example_uses} {on_cluster}
(
    example_id String COMMENT 'Example id, derived from domain, request and response' CODEC(ZSTD(1)),
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset' CODEC(ZSTD(1)),
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo',
    arm LowCardinality(String) COMMENT 'Chosen arm',
    model LowCardinality(String) COMMENT 'Model of the arm',
    position UInt16 COMMENT 'Position in the prompt, from 1',
    example_order LowCardinality(String) DEFAULT 'best_last' COMMENT 'Order of the examples in the prompt: best_last, shared_prefix, random, or kept from the conversation''s turn before',
    order_probability Float64 DEFAULT 1 COMMENT 'Probability with which that order was drawn, 0 to 1',
    similarity Float64 COMMENT 'Cosine similarity of request and example, -1 to 1',
    helpfulness Float64 COMMENT 'Predicted helpfulness, 0 to 1',
    tokens UInt32 COMMENT 'Tokens that it adds to the prompt, estimated',
    explored Bool COMMENT 'Shown by chance, for the trial',
    cached_bonus Float64 DEFAULT 0 COMMENT 'Added to helpfulness because the arm had its KV cache; 0: nothing was added',
    arm_cost Float64 COMMENT 'Normalised cost of the arm, 0 to 1',
    arm_mean Float64 COMMENT 'Quality that the router predicted for the arm, 0 to 1',
    features Array(Float32) COMMENT 'Row of helpfulness features of the example; empty: not computed' CODEC(ZSTD(1)),
    features_version UInt32 DEFAULT 1 COMMENT 'Version of the layout of features',
    helpfulness_version UInt64 COMMENT 'Version of the helpfulness model that predicted; 0: none, the similarity is used',
    created_at DateTime64(3, 'UTC') COMMENT 'When it was decided, UTC' CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String) COMMENT 'Kafka topic that the row came from',
    kafka_partition Int32 COMMENT 'Partition of that topic' CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 COMMENT 'Offset in that partition' CODEC(Delta, ZSTD(1)),
    kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot and topic id that the offset belongs to; empty: not known',
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset COMMENT 'Version for merging: the row with the lowest offset wins' CODEC(Delta, ZSTD(1)),
    INDEX created_at_range created_at TYPE minmax GRANULARITY 1,
    INDEX request_id_filter request_id TYPE bloom_filter(0.01) GRANULARITY 4
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (example_id, request_id, tenant)
{ttl:created_at}
COMMENT 'Examples shown to the chosen arm';

{distributed:example_uses:cityHash64(request_id)};

-- Routing sees what is shown: an estimate for one arm weighs a row by 1 / arm_probability.
CREATE TABLE IF NOT EXISTS {table:example_trials} {on_cluster}
(
    example_id String COMMENT 'Example id, derived from domain, request and response' CODEC(ZSTD(1)),
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset' CODEC(ZSTD(1)),
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo',
    arm LowCardinality(String) COMMENT 'Chosen arm',
    model LowCardinality(String) COMMENT 'Model of the arm',
    shown Bool COMMENT 'true: forced into the prompt; false: kept out',
    probability Float64 COMMENT 'Probability of showing it, 0 to 1',
    similarity Float64 COMMENT 'Cosine similarity of request and example, -1 to 1',
    helpfulness Float64 COMMENT 'Predicted helpfulness, 0 to 1',
    examples UInt16 COMMENT 'Number of examples in the prompt, this one included where shown',
    features Array(Float32) COMMENT 'Row of helpfulness features of the example; empty: not computed' CODEC(ZSTD(1)),
    features_version UInt32 DEFAULT 1 COMMENT 'Version of the layout of features',
    helpfulness_version UInt64 COMMENT 'Version of the helpfulness model that predicted; 0: none, the similarity is used',
    arm_cost Float64 COMMENT 'Normalised cost of the arm, 0 to 1',
    arm_mean Float64 COMMENT 'Quality that the router predicted for the arm, 0 to 1',
    arm_probability Float64 COMMENT 'Exact probability of the arm given what it was shown, 0 to 1',
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
COMMENT 'Randomised trials: chance showed a candidate or kept it out';

{distributed:example_trials:cityHash64(request_id)};

CREATE TABLE IF NOT EXISTS {table:admissions} {on_cluster}
(
    request_id String COMMENT 'Request of the candidate' CODEC(ZSTD(1)),
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    source LowCardinality(String) COMMENT 'response or observation',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo',
    outcome LowCardinality(String) COMMENT 'admitted, replaced, kept, refused or withdrawn',
    reason LowCardinality(String) COMMENT 'Why it was refused or withdrawn: private, quality, near_duplicate, ...; empty: neither',
    example_id String COMMENT 'Example that it became or that prevents it; empty: none' CODEC(ZSTD(1)),
    quality Float64 COMMENT 'Quality that decided, 0 to 1',
    reward_version UInt64 COMMENT 'Version of its row in rewards; 0: an observation',
    decided_at DateTime64(3, 'UTC') COMMENT 'When it was decided, UTC' CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:decided_at}
ORDER BY (request_id, tenant, source)
{ttl:decided_at}
COMMENT 'Why an answer became an example or did not';

{distributed:admissions:cityHash64(request_id)};

CREATE TABLE IF NOT EXISTS {table:example_replays} {on_cluster}
(
    run_id String COMMENT 'Id of the example replay run' CODEC(ZSTD(1)),
    tenant LowCardinality(String) COMMENT 'Tenant that owns the example',
    example_id String COMMENT 'Example that was replayed' CODEC(ZSTD(1)),
    new_example_id Nullable(String) COMMENT 'Example that replaced it; NULL: none did' CODEC(ZSTD(1)),
    attempt UInt32 COMMENT 'Number of the attempt on this example, from 1',
    old_quality Float64 COMMENT 'Quality before, 0 to 1',
    new_quality Nullable(Float64) COMMENT 'Quality of the best new answer, 0 to 1; NULL: none',
    tokens UInt64 COMMENT 'Tokens spent on answers and judging',
    cost Float64 COMMENT 'Money spent, in the currency of the configured prices',
    outcome LowCardinality(String) COMMENT 'replaced (by a better answer), kept, same, failed or unjudged',
    gain Nullable(Float64) COMMENT 'Predicted saving an hour when it was tried, in average answers of an arm of cost 1; NULL: not known',
    arm LowCardinality(String) COMMENT 'Arm that was asked for a better answer',
    samples UInt32 COMMENT 'Answers requested from that arm',
    relative_cost Nullable(Float64) COMMENT 'Cost of the attempt, in average answers of an arm of cost 1; NULL: not known',
    created_at DateTime64(3, 'UTC') COMMENT 'When it was tried, UTC' CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String) COMMENT 'Kafka topic that the row came from',
    kafka_partition Int32 COMMENT 'Partition of that topic' CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 COMMENT 'Offset in that partition' CODEC(Delta, ZSTD(1)),
    kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot and topic id that the offset belongs to; empty: not known',
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset COMMENT 'Version for merging: the row with the lowest offset wins' CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (example_id, tenant, run_id, attempt)
{ttl:created_at}
COMMENT 'Attempts to get a better answer for an example';

{distributed:example_replays:cityHash64(example_id)};

CREATE TABLE IF NOT EXISTS {table:example_replay_runs} {on_cluster}
(
    run_id String COMMENT 'Id of the run' CODEC(ZSTD(1)),
    cause LowCardinality(String) COMMENT 'hand or schedule',
    due_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the schedule, UTC; NULL: started by hand',
    state LowCardinality(String) COMMENT 'running, waiting (for low load), done, cut-off, budget, load, interrupted or failed',
    problem String COMMENT 'Why it failed; empty: it did not',
    judge LowCardinality(String) COMMENT 'Arm that compares the answers',
    top UInt32 COMMENT 'Most examples to try',
    samples UInt32 COMMENT 'Answers requested for each example',
    cut_off Nullable(Float64) COMMENT 'Least gain worth a try; NULL: none is, or not known yet',
    cut_off_from LowCardinality(String) COMMENT 'Origin of cut_off: prior, past replays or given',
    load Float64 COMMENT 'Utilisation of the busiest arm when the row was written; 1: all slots busy',
    waited_ms UInt64 COMMENT 'Time spent waiting for low load, ms',
    began_at DateTime64(3, 'UTC') COMMENT 'When it began, UTC' CODEC(Delta, ZSTD(1)),
    updated_at DateTime64(3, 'UTC') COMMENT 'Renewed every 30 s while it runs, UTC' CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:updated_at}
ORDER BY (run_id)
{ttl:began_at}
COMMENT 'Runs of example replay, with their state';

{distributed:example_replay_runs:cityHash64(run_id)};

-- A row is written before anything of its round is used.
CREATE TABLE IF NOT EXISTS {table:synthesis_rounds} {on_cluster}
(
    domain String COMMENT 'Shared domain, as +/domain',
    run_id String COMMENT 'Id of the run',
    round UInt32 COMMENT 'Number of the round, from 1',
    noise Float64 COMMENT 'Standard deviation of the noise on the votes; a round costs 1 / noise^2 of mu squared',
    chosen Array(String) COMMENT 'Synthetic questions with the most votes, best first' CODEC(ZSTD(1)),
    created_at DateTime64(3, 'UTC') COMMENT 'When the round was drawn, UTC' CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:created_at}
ORDER BY (domain, run_id, round, created_at)
COMMENT 'Rounds of private example synthesis: the privacy spent; never deleted';

{distributed:synthesis_rounds:cityHash64(domain)};

CREATE TABLE IF NOT EXISTS {table:cursors} {on_cluster}
(
    reader LowCardinality(String) COMMENT 'Process that reads, such as curate',
    source LowCardinality(String) COMMENT 'A topic as topic@origin, or rewards',
    kafka_partition Int32 COMMENT 'Partition; 0 where the source has none',
    position UInt64 COMMENT 'Next offset of a topic; of rewards the highest version seen'
)
ENGINE = {replacing:position}
ORDER BY (reader, source, kafka_partition)
COMMENT 'How far curate has read each source';

{distributed:cursors:cityHash64(reader)};
