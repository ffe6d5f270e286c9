-- What learn makes of the log (docs/learning.md): rewards and arm_hours are recomputed whole for whatever changed, never incremented,
-- so dropping them and computing them again gives the same numbers. learn_positions says how far learn has read the base tables.

-- The reduction of all feedback on a request. weight = 0: nothing counts (all of it withdrawn, pairwise or unusable).
CREATE TABLE IF NOT EXISTS {table:rewards} {on_cluster}
(
    request_id String CODEC(ZSTD(1)),
    tenant LowCardinality(String),
    reward Float64 COMMENT '[0, 1]; the mean of the newest feedback of each source and kind, weighted',
    weight Float64 COMMENT 'Sum of the weights: person 1, system 1, judge 0.3',
    counted UInt32 COMMENT 'Feedback that the reward rests on: at most one a source and kind',
    received UInt32 COMMENT 'All feedback on the request, withdrawn and pairwise included',
    newest_at DateTime64(3, 'UTC') COMMENT 'Of the feedback that counts, else of all' CODEC(Delta, ZSTD(1)),
    version UInt64 COMMENT 'Microseconds since the epoch, always above what was there' CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:version}
ORDER BY (request_id, tenant)
{ttl:newest_at};

{distributed:rewards:cityHash64(request_id)};

-- Sufficient statistics of an arm and model over the rewarded decisions of an hour, without forgetting. rewards = 0: nothing left in it.
CREATE TABLE IF NOT EXISTS {table:arm_hours} {on_cluster}
(
    arm LowCardinality(String),
    model LowCardinality(String),
    hour DateTime('UTC') COMMENT 'Of the decisions' CODEC(Delta, ZSTD(1)),
    feature_version UInt32,
    a Array(Float64) COMMENT 'Sum of w x xT, lower triangle by rows' CODEC(ZSTD(1)),
    b Array(Float64) COMMENT 'Sum of w r x' CODEC(ZSTD(1)),
    weight Float64 COMMENT 'Sum of w',
    reward_sum Float64 COMMENT 'Sum of w r',
    rewards UInt64 COMMENT 'Rewarded decisions',
    newest_at DateTime64(3, 'UTC') COMMENT 'Newest feedback in it' CODEC(Delta, ZSTD(1)),
    version UInt64 CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:version}
ORDER BY (feature_version, arm, model, hour)
{ttl:hour};

{distributed:arm_hours:cityHash64(arm)};

-- Offsets, because record stores every partition in their order: what lies below next_offset has been seen, whenever it was inserted.
CREATE TABLE IF NOT EXISTS {table:learn_positions} {on_cluster}
(
    reader LowCardinality(String) COMMENT 'What the rows were read for, e.g. router@1',
    topic LowCardinality(String),
    kafka_partition Int32,
    next_offset UInt64
)
ENGINE = {replacing:next_offset}
ORDER BY (reader, topic, kafka_partition);

{distributed:learn_positions:cityHash64(topic, kafka_partition)};

-- As in 0002, with what people and judges thought of the answer. reward is NULL while nothing counts.
CREATE OR REPLACE VIEW {database}.outcomes {on_cluster} AS
SELECT
    request.request_id AS request_id,
    request.tenant AS tenant,
    request.domain AS domain,
    request.created_at AS created_at,
    request.question AS question,
    request.metadata AS metadata,
    toBool(decision.request_id != '') AS decided,
    decision.arm AS decided_arm,
    decision.probability AS probability,
    decision.arms AS arms,
    decision.policy_version AS policy_version,
    decision.feature_version AS feature_version,
    decision.asked AS asked,
    toBool(response.request_id != '') AS answered,
    response.status AS status,
    response.error_code AS error_code,
    response.source AS source,
    response.arm AS arm,
    response.model AS model,
    response.text AS text,
    response.example_ids AS example_ids,
    response.prompt_tokens AS prompt_tokens,
    response.linked_tokens AS linked_tokens,
    response.completion_tokens AS completion_tokens,
    response.cost AS cost,
    response.plan_ms AS plan_ms,
    response.queue_ms AS queue_ms,
    response.first_token_ms AS first_token_ms,
    response.total_ms AS total_ms,
    response.created_at AS answered_at,
    arrayDistinct(arrayConcat(decision.degraded, response.degraded)) AS degraded,
    if(rewarded.weight > 0, toNullable(rewarded.reward), NULL) AS reward,
    rewarded.weight AS reward_weight,
    rewarded.received AS feedback
FROM
    (SELECT *, question FROM {database}.requests FINAL) AS request
    LEFT JOIN (SELECT * FROM {database}.decisions FINAL) AS decision
        ON decision.request_id = request.request_id AND decision.tenant = request.tenant
    LEFT JOIN (SELECT * FROM {database}.responses FINAL WHERE NOT duplicate) AS response
        ON response.request_id = request.request_id AND response.tenant = request.tenant
    LEFT JOIN (SELECT * FROM {database}.rewards FINAL) AS rewarded
        ON rewarded.request_id = request.request_id AND rewarded.tenant = request.tenant
{colocated};
