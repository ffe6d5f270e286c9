-- Views of requests and their answers. Views read FINAL: every request is one row.
--
-- The SELECT of a view is in parentheses because older versions of ClickHouse may take a COMMENT
-- behind it for an alias.

-- Without decision: refused, served from a cache, or not planned yet. Without response: under way.
CREATE OR REPLACE VIEW {database}.outcomes {on_cluster}
(
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset',
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo',
    created_at DateTime64(3, 'UTC') COMMENT 'When the broker received the request, UTC',
    question String COMMENT 'Text of the last user message',
    metadata Map(String, String) COMMENT 'Client''s metadata, uninterpreted',
    session String COMMENT 'Client''s name of the session; empty: none',
    decided Bool COMMENT 'It has a decision',
    decided_arm LowCardinality(String) COMMENT 'Chosen arm',
    probability Float64 COMMENT 'Exact probability of the choice, 0 to 1',
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
    )) COMMENT 'Candidate arms, as in decisions',
    policy_version UInt64 COMMENT 'Version of the router policy; 0: the prior',
    feature_version UInt32 COMMENT 'Version of the layout of the context vector',
    asked Bool COMMENT 'The client is asked for feedback',
    answered Bool COMMENT 'It has a response',
    status LowCardinality(String) COMMENT 'ok, failed or refused',
    error_code LowCardinality(Nullable(String)) COMMENT 'Stable error code; NULL: no error',
    source LowCardinality(String) COMMENT 'generated, cache, reuse, replayed, imported or none (no answer)',
    arm LowCardinality(Nullable(String)) COMMENT 'Arm that answered; NULL: none did',
    model LowCardinality(Nullable(String)) COMMENT 'Model that answered; NULL: none did',
    text String COMMENT 'Answer text',
    example_ids Array(String) COMMENT 'Examples shown to the model',
    prompt_tokens UInt32 COMMENT 'Prompt, in tokens',
    linked_tokens UInt32 COMMENT 'Prompt tokens whose KV cache was reused by linked prefill',
    cached_tokens UInt32 COMMENT 'Prompt tokens that the endpoint had cached',
    cache_write_tokens UInt32 COMMENT 'Prompt tokens that the endpoint wrote to its cache',
    completion_tokens UInt32 COMMENT 'Completion, in tokens',
    reasoning_tokens UInt32 COMMENT 'Completion tokens that are reasoning',
    cost Float64 COMMENT 'Cost of the answer, in the currency of the configured prices',
    plan_ms Float64 COMMENT 'Time in the plan stage, ms',
    queue_ms Float64 COMMENT 'On the work topic and waiting in the arm, ms',
    first_token_ms Nullable(Float64) COMMENT 'From arrival of the request to the first token, ms; NULL: not measured',
    total_ms Float64 COMMENT 'From arrival of the request to the finished answer, ms',
    answered_at DateTime64(3, 'UTC') COMMENT 'When the answer was finished, UTC',
    degraded Array(String) COMMENT 'What was missing when it was decided or answered',
    reward Nullable(Float64) COMMENT 'Reward, 0 to 1; NULL: no feedback counts',
    reward_weight Float64 COMMENT 'Weight of the reward; 0: no feedback counts',
    feedback UInt32 COMMENT 'Pieces of feedback received'
)
AS (
SELECT
    request.request_id AS request_id,
    request.tenant AS tenant,
    request.domain AS domain,
    request.created_at AS created_at,
    request.question AS question,
    request.metadata AS metadata,
    request.session AS session,
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
    response.cached_tokens AS cached_tokens,
    response.cache_write_tokens AS cache_write_tokens,
    response.completion_tokens AS completion_tokens,
    response.reasoning_tokens AS reasoning_tokens,
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
    (SELECT *, question, session FROM {database}.requests FINAL) AS request
    LEFT JOIN (SELECT * FROM {database}.decisions FINAL) AS decision
        ON decision.request_id = request.request_id AND decision.tenant = request.tenant
    LEFT JOIN (SELECT * FROM {database}.responses FINAL WHERE NOT duplicate) AS response
        ON response.request_id = request.request_id AND response.tenant = request.tenant
    LEFT JOIN (SELECT * FROM {database}.rewards FINAL) AS rewarded
        ON rewarded.request_id = request.request_id AND rewarded.tenant = request.tenant
{colocated}
)
COMMENT 'Requests with their decision, response and reward';

CREATE OR REPLACE VIEW {database}.sessions {on_cluster}
(
    session String COMMENT 'Client''s name of the session',
    tenant LowCardinality(String) COMMENT 'Tenant',
    first_at DateTime64(3, 'UTC') COMMENT 'When its first request was received, UTC',
    last_at DateTime64(3, 'UTC') COMMENT 'When its last request was received, UTC',
    requests UInt64 COMMENT 'Requests',
    unanswered UInt64 COMMENT 'Requests without an answer: failed, refused or under way',
    arms Array(LowCardinality(String)) COMMENT 'Arms that answered, each once',
    switches UInt64 COMMENT 'Answers by another arm than the answer before',
    prompt_tokens UInt64 COMMENT 'Prompts, in tokens',
    cached_tokens UInt64 COMMENT 'Prompt tokens that endpoints had cached',
    cost Float64 COMMENT 'Cost of its answers, in the currency of the configured prices',
    reward Nullable(Float64) COMMENT 'Mean reward of its requests, 0 to 1, outcomes of the session included; NULL: no feedback counts'
)
AS (
WITH arraySort(groupArrayIf(1000)((created_at, assumeNotNull(arm)), arm IS NOT NULL)).2 AS in_order
SELECT
    outcome.session AS session,
    outcome.tenant AS tenant,
    min(created_at) AS first_at,
    max(created_at) AS last_at,
    count() AS requests,
    countIf(status != 'ok') AS unanswered,
    arraySort(groupUniqArrayIf(assumeNotNull(arm), arm IS NOT NULL)) AS arms,
    toUInt64(arraySum(arrayMap((one, before) -> one != before, arrayPopFront(in_order), arrayPopBack(in_order)))) AS switches,
    sum(outcome.prompt_tokens) AS prompt_tokens,
    sum(outcome.cached_tokens) AS cached_tokens,
    sum(outcome.cost) AS cost,
    avgOrNull(outcome.reward) AS reward
FROM {database}.outcomes AS outcome
WHERE outcome.session != ''
GROUP BY session, tenant
)
COMMENT 'Sessions with their cost and reward';

-- A token of the most expensive arm is priced by what its own answers of the same month cost on
-- average. The arm is charged for the examples that it would have been shown, as the decision has
-- them. A reused answer has no tokens of its own: four characters of question and answer count as
-- one.
CREATE OR REPLACE VIEW {database}.savings {on_cluster}
(
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset',
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo',
    created_at DateTime64(3, 'UTC') COMMENT 'When the broker received the request, UTC',
    source LowCardinality(String) COMMENT 'generated, cache, reuse, replayed, imported or none (no answer)',
    arm LowCardinality(Nullable(String)) COMMENT 'Arm that answered; NULL: none did',
    most_expensive_arm String COMMENT 'Candidate arm with the highest normalised cost',
    cost Float64 COMMENT 'Cost of the answer, in the currency of the configured prices',
    alternative_cost Float64 COMMENT 'Cost of its alternative answers',
    most_expensive_cost Nullable(Float64) COMMENT 'Estimated cost at most_expensive_arm; NULL: that arm answered nothing in the month',
    saved Nullable(Float64) COMMENT 'most_expensive_cost less cost and alternative_cost; below 0: more was paid; NULL: not known'
)
AS (
SELECT
    answer.request_id AS request_id,
    answer.tenant AS tenant,
    answer.domain AS domain,
    answer.created_at AS created_at,
    answer.source AS source,
    answer.arm AS arm,
    answer.most_expensive_arm AS most_expensive_arm,
    answer.cost AS cost,
    answer.alternative_cost AS alternative_cost,
    if(answer.arm = answer.most_expensive_arm AND answer.source = 'generated', answer.cost, price.per_token * answer.tokens) AS most_expensive_cost,
    most_expensive_cost - answer.cost - answer.alternative_cost AS saved
FROM
    (
        SELECT
            outcome.request_id AS request_id, outcome.tenant AS tenant, domain, created_at, source, arm, cost, other.alternative_cost AS alternative_cost,
            arrayReverseSort(score -> score.cost, arms)[1] AS costliest,
            costliest.arm AS most_expensive_arm,
            arrayFirst(score -> score.arm = decided_arm, arms) AS chosen,
            arraySum(arrayMap(example -> toInt64(example.tokens), chosen.examples)) AS shown,
            arraySum(arrayMap(example -> toInt64(example.tokens), costliest.examples)) AS shown_instead,
            if(source = 'reuse', toInt64(ceil(lengthUTF8(question) / 4)), toInt64(prompt_tokens) - shown) AS asked,
            if(source = 'reuse', toInt64(ceil(lengthUTF8(text) / 4)), toInt64(completion_tokens)) AS answered_tokens,
            greatest(asked + shown_instead, 0) + answered_tokens AS tokens,
            toStartOfMonth(created_at) AS month
        FROM
            (SELECT * FROM {database}.outcomes WHERE status = 'ok') AS outcome
            LEFT JOIN
            (
                SELECT request_id, tenant, sum(cost) AS alternative_cost
                FROM {database}.alternative_answers FINAL
                GROUP BY request_id, tenant
            ) AS other
                ON other.request_id = outcome.request_id AND other.tenant = outcome.tenant
    ) AS answer
    LEFT JOIN
    (
        SELECT
            assumeNotNull(arm) AS arm,
            toStartOfMonth(created_at) AS month,
            toNullable(sum(cost) / sum(prompt_tokens + completion_tokens)) AS per_token
        FROM {database}.responses FINAL
        WHERE status = 'ok' AND source = 'generated' AND arm IS NOT NULL AND NOT duplicate
        GROUP BY arm, month
        HAVING sum(prompt_tokens + completion_tokens) > 0
    ) AS price ON price.arm = answer.most_expensive_arm AND price.month = answer.month
{colocated}
)
COMMENT 'Cost of each answer, and of the most expensive candidate arm';

CREATE OR REPLACE VIEW {database}.cache_hits {on_cluster}
(
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset',
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo',
    cache_key String COMMENT 'Key of the response cache entry in the domain',
    created_at DateTime64(3, 'UTC') COMMENT 'When the answer was given, UTC',
    arm LowCardinality(Nullable(String)) COMMENT 'Arm that had answered',
    model LowCardinality(Nullable(String)) COMMENT 'Model that had answered',
    saved_cost Float64 COMMENT 'Cost avoided, in the currency of the configured prices',
    total_ms Float64 COMMENT 'From arrival of the request to the finished answer, ms'
)
AS (
SELECT
    decision.request_id AS request_id,
    decision.tenant AS tenant,
    decision.domain AS domain,
    decision.cache_key AS cache_key,
    response.created_at AS created_at,
    response.arm AS arm,
    response.model AS model,
    response.saved_cost AS saved_cost,
    response.total_ms AS total_ms
FROM
    (SELECT request_id, tenant, domain, cache_key FROM {database}.decisions FINAL WHERE source = 'cache') AS decision
    INNER JOIN
    (
        SELECT request_id, tenant, created_at, arm, model, saved_cost, total_ms
        FROM {database}.responses FINAL
        WHERE source = 'cache' AND NOT duplicate
    ) AS response
        ON response.request_id = decision.request_id AND response.tenant = decision.tenant
{colocated}
)
COMMENT 'Answers from the response cache, with the cost avoided';

CREATE OR REPLACE VIEW {database}.reuse_hits {on_cluster}
(
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset',
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo',
    arm LowCardinality(String) COMMENT 'Arm of type reuse',
    example_id String COMMENT 'Example whose answer was given',
    similarity Float32 COMMENT 'Cosine similarity of request and example, -1 to 1',
    quality Float32 COMMENT 'Predicted probability that the answer is right, 0 to 1',
    created_at DateTime64(3, 'UTC') COMMENT 'When the answer was given, UTC',
    saved_cost Float64 COMMENT 'Cost avoided, in the currency of the configured prices',
    total_ms Float64 COMMENT 'From arrival of the request to the finished answer, ms',
    reward Nullable(Float64) COMMENT 'Reward, 0 to 1; NULL: no feedback counts'
)
AS (
SELECT
    decision.request_id AS request_id,
    decision.tenant AS tenant,
    decision.domain AS domain,
    decision.reuse_arm AS arm,
    decision.reuse_example AS example_id,
    decision.reuse_similarity AS similarity,
    decision.reuse_quality AS quality,
    response.created_at AS created_at,
    response.saved_cost AS saved_cost,
    response.total_ms AS total_ms,
    if(rewarded.weight > 0, toNullable(rewarded.reward), NULL) AS reward
FROM
    (
        SELECT request_id, tenant, domain, reuse_arm, reuse_example, reuse_similarity, reuse_quality
        FROM {database}.decisions FINAL
        WHERE reuse_state = 'on'
    ) AS decision
    INNER JOIN
    (
        SELECT request_id, tenant, created_at, saved_cost, total_ms
        FROM {database}.responses FINAL
        WHERE source = 'reuse' AND NOT duplicate
    ) AS response
        ON response.request_id = decision.request_id AND response.tenant = decision.tenant
    LEFT JOIN (SELECT request_id, tenant, reward, weight FROM {database}.rewards FINAL) AS rewarded
        ON rewarded.request_id = decision.request_id AND rewarded.tenant = decision.tenant
{colocated}
)
COMMENT 'Answers of reuse arms, with the cost avoided and the reward';

-- How they compare is feedback on the request against other_arm.
CREATE OR REPLACE VIEW {database}.answer_pairs {on_cluster}
(
    request_id String COMMENT 'Request id: the client''s, or topic-partition-offset',
    tenant LowCardinality(String) COMMENT 'Tenant that owns the request',
    created_at DateTime64(3, 'UTC') COMMENT 'When the alternative answer was finished, UTC',
    arm LowCardinality(Nullable(String)) COMMENT 'Arm of the answer served',
    text String COMMENT 'Answer served',
    cost Float64 COMMENT 'Cost of the answer served, in the currency of the configured prices',
    other_arm LowCardinality(String) COMMENT 'Arm of the alternative answer',
    other_text String COMMENT 'Alternative answer',
    other_cost Float64 COMMENT 'Cost of the alternative answer'
)
AS (
SELECT
    other.request_id AS request_id,
    other.tenant AS tenant,
    other.created_at AS created_at,
    first.arm AS arm,
    first.text AS text,
    first.cost AS cost,
    other.arm AS other_arm,
    other.text AS other_text,
    other.cost AS other_cost
FROM
    (
        SELECT request_id, tenant, created_at, assumeNotNull(arm) AS arm, text, cost
        FROM {database}.alternative_answers FINAL
        WHERE status = 'ok' AND NOT duplicate AND arm IS NOT NULL
    ) AS other
    INNER JOIN
    (
        SELECT request_id, tenant, arm, text, cost
        FROM {database}.responses FINAL
        WHERE status = 'ok' AND NOT duplicate AND empty(failed_arms)
    ) AS first
        ON first.request_id = other.request_id AND first.tenant = other.tenant
{colocated}
)
COMMENT 'Both answers of a request with an alternative answer';
