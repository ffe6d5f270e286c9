-- Policies and the statistics that learn computes them from.

CREATE TABLE IF NOT EXISTS {table:policies} {on_cluster}
(
    name LowCardinality(String) COMMENT 'router, threshold, helpfulness, or link/ and an arm',
    tenant LowCardinality(String) COMMENT 'Tenant that it is for; default: all tenants',
    version UInt64 COMMENT 'Version, ascending',
    kind LowCardinality(String) COMMENT 'Format of the body',
    body String COMMENT 'JSON; empty where it is referenced' CODEC(ZSTD(3)),
    reference Nullable(String) COMMENT 'Location of a large body; NULL: none',
    hash Nullable(String) COMMENT 'SHA-256 of a referenced body; NULL: none',
    feature_version UInt32 COMMENT 'Version of the layout of the context vector',
    trained_through Nullable(DateTime64(3, 'UTC')) COMMENT 'Newest data in it, UTC; NULL: none',
    metrics Map(String, Float64) COMMENT 'Figures of its training by name',
    revert_of Nullable(UInt64) COMMENT 'Version whose body it repeats; NULL: none',
    created_at DateTime64(3, 'UTC') COMMENT 'When it was published, UTC' CODEC(Delta, ZSTD(1)),
    kafka_timestamp DateTime64(3, 'UTC') COMMENT 'Timestamp of the record in Kafka, UTC; the newest state wins' CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String) COMMENT 'Kafka topic that the row came from',
    kafka_partition Int32 COMMENT 'Partition of that topic' CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 COMMENT 'Offset in that partition' CODEC(Delta, ZSTD(1)),
    kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot and topic id that the offset belongs to; empty: not known'
)
ENGINE = {replacing:kafka_timestamp}
ORDER BY (name, tenant, version)
COMMENT 'Every version of every policy';

{distributed:policies:cityHash64(name)};

-- x is the context of the chosen arm, r the reward, w its weight. Recomputed for hours that
-- changed, never incremented; no forgetting.
CREATE TABLE IF NOT EXISTS {table:arm_hours} {on_cluster}
(
    arm LowCardinality(String) COMMENT 'Arm',
    model LowCardinality(String) COMMENT 'Model of the arm',
    hour DateTime('UTC') COMMENT 'Hour of the decisions, UTC' CODEC(Delta, ZSTD(1)),
    feature_version UInt32 COMMENT 'Version of the layout of the context vector',
    a Array(Float64) COMMENT 'Sum of w x xT, lower triangle by rows' CODEC(ZSTD(1)),
    b Array(Float64) COMMENT 'Sum of w r x' CODEC(ZSTD(1)),
    weight Float64 COMMENT 'Sum of w, the weights of the rewards',
    reward_sum Float64 COMMENT 'Sum of w r',
    reward_squares Float64 DEFAULT 0 COMMENT 'Sum of w r r',
    rewards UInt64 COMMENT 'Number of rewarded decisions; 0: nothing is left in this hour',
    newest_at DateTime64(3, 'UTC') COMMENT 'Newest feedback in the sums, UTC' CODEC(Delta, ZSTD(1)),
    version UInt64 COMMENT 'Version for merging, in microseconds since the epoch; the newest wins' CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:version}
ORDER BY (feature_version, arm, model, hour)
{ttl:hour}
COMMENT 'Sums of an arm and model over the rewarded decisions of an hour';

{distributed:arm_hours:cityHash64(arm)};

CREATE TABLE IF NOT EXISTS {table:tenant_arm_hours} {on_cluster}
(
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    arm LowCardinality(String) COMMENT 'Arm',
    model LowCardinality(String) COMMENT 'Model of the arm',
    hour DateTime('UTC') COMMENT 'Hour of the decisions, UTC' CODEC(Delta, ZSTD(1)),
    feature_version UInt32 COMMENT 'Version of the layout of the context vector',
    a Array(Float64) COMMENT 'Sum of w x xT, lower triangle by rows' CODEC(ZSTD(1)),
    b Array(Float64) COMMENT 'Sum of w r x' CODEC(ZSTD(1)),
    weight Float64 COMMENT 'Sum of w, the weights of the rewards',
    reward_sum Float64 COMMENT 'Sum of w r',
    reward_squares Float64 COMMENT 'Sum of w r r',
    rewards UInt64 COMMENT 'Number of rewarded decisions; 0: nothing is left in this hour',
    newest_at DateTime64(3, 'UTC') COMMENT 'Newest feedback in the sums, UTC' CODEC(Delta, ZSTD(1)),
    version UInt64 COMMENT 'Version for merging, in microseconds since the epoch; the newest wins' CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:version}
ORDER BY (feature_version, tenant, arm, model, hour)
{ttl:hour}
COMMENT 'The same by tenant, with routing.statistics: tenant';

{distributed:tenant_arm_hours:cityHash64(tenant)};

CREATE TABLE IF NOT EXISTS {table:domain_arm_hours} {on_cluster}
(
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo',
    arm LowCardinality(String) COMMENT 'Arm',
    model LowCardinality(String) COMMENT 'Model of the arm',
    hour DateTime('UTC') COMMENT 'Hour of the decisions, UTC' CODEC(Delta, ZSTD(1)),
    feature_version UInt32 COMMENT 'Version of the layout of the context vector',
    x Array(Float64) COMMENT 'Sum of w x' CODEC(ZSTD(1)),
    weight Float64 COMMENT 'Sum of w, the weights of the rewards; 0: nothing is left in this hour',
    reward_sum Float64 COMMENT 'Sum of w r',
    version UInt64 COMMENT 'Version for merging, in microseconds since the epoch; the newest wins' CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:version}
ORDER BY (feature_version, arm, model, hour, domain)
{ttl:hour}
COMMENT 'Sums of an arm and model by sharing domain';

{distributed:domain_arm_hours:cityHash64(arm)};

-- Offsets suffice because record stores every partition in order.
CREATE TABLE IF NOT EXISTS {table:learn_positions} {on_cluster}
(
    reader LowCardinality(String) COMMENT 'What the rows were read for, such as router@1',
    topic LowCardinality(String) COMMENT 'Topic, as topic@origin',
    kafka_partition Int32 COMMENT 'Partition',
    next_offset UInt64 COMMENT 'Next offset; everything below it has been read'
)
ENGINE = {replacing:next_offset}
ORDER BY (reader, topic, kafka_partition)
COMMENT 'How far learn has read each partition';

{distributed:learn_positions:cityHash64(topic, kafka_partition)};

CREATE TABLE IF NOT EXISTS {table:policy_terms} {on_cluster}
(
    evaluation String COMMENT 'Id of the evaluation' CODEC(ZSTD(1)),
    policy LowCardinality(String) COMMENT 'Policy that was evaluated: router@12, an arm, logged or a file',
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset' CODEC(ZSTD(1)),
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo',
    arm LowCardinality(String) COMMENT 'Arm that was chosen',
    logged Float64 COMMENT 'Probability with which it was chosen, 0 to 1',
    target Float64 COMMENT 'Probability with which the policy chooses it, 0 to 1',
    unsupported Float64 COMMENT 'Probability that the policy gives to arms without a logged one, 0 to 1',
    utility Nullable(Float64) COMMENT 'Reward less the cost weight times the cost of the arm; NULL: no feedback',
    feedback_weight Float64 COMMENT '1 / probability of feedback; 0: no feedback; 1: not corrected',
    direct Nullable(Float64) COMMENT 'Utility that the reward model expects under the policy; NULL: no reward model',
    predicted Nullable(Float64) COMMENT 'Utility that it expects of the chosen arm; NULL: no reward model',
    cap Float64 COMMENT 'Weights are clipped at it',
    decided_at DateTime64(3, 'UTC') COMMENT 'When it was decided, UTC' CODEC(Delta, ZSTD(1)),
    evaluated_at DateTime64(3, 'UTC') COMMENT 'When it was evaluated, UTC' CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:evaluated_at}
PARTITION BY toYYYYMM(evaluated_at)
ORDER BY (evaluation, policy, request_id, tenant)
{ttl:evaluated_at}
COMMENT 'Terms of precedent policy evaluate --save';

{distributed:policy_terms:cityHash64(request_id)};
