-- As in 0015, with columns named most_expensive_arm and most_expensive_cost.

-- What an answer would have cost at the most expensive arm that could have answered it, and what
-- it did cost. The most expensive arm is the one of the decision with the highest normalised cost;
-- its price of a token is what its own answers of the same month cost on average. Where that arm
-- has answered nothing in the month, or the answer came without a decision, most_expensive_cost is
-- NULL: unknown, not zero.
CREATE OR REPLACE VIEW {database}.savings {on_cluster} AS
SELECT
    answer.request_id AS request_id,
    answer.tenant AS tenant,
    answer.domain AS domain,
    answer.created_at AS created_at,
    answer.source AS source,
    answer.arm AS arm,
    answer.most_expensive_arm AS most_expensive_arm,
    answer.cost AS cost,
    if(answer.arm = answer.most_expensive_arm AND answer.source = 'generated', answer.cost, price.per_token * answer.tokens) AS most_expensive_cost,
    greatest(most_expensive_cost - answer.cost, 0) AS saved
FROM
    (
        SELECT
            request_id, tenant, domain, created_at, source, arm, cost,
            arrayReverseSort(score -> score.cost, arms)[1] AS costliest,
            costliest.arm AS most_expensive_arm,
            arrayFirst(score -> score.arm = decided_arm, arms) AS chosen,
            arraySum(arrayMap(example -> toInt64(example.tokens), chosen.examples)) AS shown,
            arraySum(arrayMap(example -> toInt64(example.tokens), costliest.examples)) AS shown_instead,
            greatest(toInt64(prompt_tokens) - shown + shown_instead, 0) + completion_tokens AS tokens,
            toStartOfMonth(created_at) AS month
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
    ) AS price ON price.arm = answer.most_expensive_arm AND price.month = answer.month
{colocated};
