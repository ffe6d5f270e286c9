-- What people query by name (docs/clickhouse.md). Views read FINAL, so every request, decision and response stands once.

-- Request, decision and response in one row. Without decision: refused, answered from a cache, or not planned yet; without response: under way.
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
    arrayDistinct(arrayConcat(decision.degraded, response.degraded)) AS degraded
FROM
    (SELECT *, question FROM {database}.requests FINAL) AS request
    LEFT JOIN (SELECT * FROM {database}.decisions FINAL) AS decision
        ON decision.request_id = request.request_id AND decision.tenant = request.tenant
    LEFT JOIN (SELECT * FROM {database}.responses FINAL WHERE NOT duplicate) AS response
        ON response.request_id = request.request_id AND response.tenant = request.tenant
{colocated};

-- What an answer would have cost at the dearest arm that could have answered it, and what it did cost. The dearest arm is the one of the
-- decision with the highest normalised cost; its price of a token is what its own answers of the same month cost on average. Where that arm
-- has answered nothing in the month, or the answer came without a decision, dearest_cost is NULL: unknown, not nothing.
CREATE OR REPLACE VIEW {database}.savings {on_cluster} AS
SELECT
    answer.request_id AS request_id,
    answer.tenant AS tenant,
    answer.domain AS domain,
    answer.created_at AS created_at,
    answer.source AS source,
    answer.arm AS arm,
    answer.dearest_arm AS dearest_arm,
    answer.cost AS cost,
    price.per_token * answer.tokens AS dearest_cost,
    greatest(dearest_cost - answer.cost, 0) AS saved,
    CAST(answer.source IN ('cache', 'reuse'), 'Bool') AS by_cache
FROM
    (
        SELECT
            request_id, tenant, domain, created_at, source, arm, cost,
            prompt_tokens + completion_tokens AS tokens,
            toStartOfMonth(created_at) AS month,
            arrayReverseSort(score -> score.cost, arms)[1].arm AS dearest_arm
        FROM {database}.outcomes
        WHERE status = 'ok'
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
    ) AS price ON price.arm = answer.dearest_arm AND price.month = answer.month
{colocated};
