-- Answers of examples given as they are (docs/arms.md, reuse): when one could be given, whether it was, and what is known of whether that was right.

{columns:decisions:
    ADD COLUMN IF NOT EXISTS reuse_arm LowCardinality(String) COMMENT 'Of type reuse. Empty: no example''s answer could be given' AFTER breakers,
    ADD COLUMN IF NOT EXISTS reuse_example String COMMENT 'Whose answer it is' CODEC(ZSTD(1)) AFTER reuse_arm,
    ADD COLUMN IF NOT EXISTS reuse_similarity Float32 AFTER reuse_example,
    ADD COLUMN IF NOT EXISTS reuse_quality Float32 COMMENT 'Predicted chance that its answer is the right one' AFTER reuse_similarity,
    ADD COLUMN IF NOT EXISTS reuse_bound Float32 COMMENT 'Upper bound of the share of wrong answers, by which the arm was on or off' AFTER reuse_quality,
    ADD COLUMN IF NOT EXISTS reuse_state LowCardinality(String) COMMENT 'on: the arm could be chosen; off: the bound was above the limit; held_back: another arm answers, for the comparison' AFTER reuse_bound,
    ADD COLUMN IF NOT EXISTS reuse_verifies Bool COMMENT 'The arm would have been chosen, and another answers: both answers are compared' AFTER reuse_state
};

-- One row for every request that was answered by an example's answer, with what that saved and how it was rated.
CREATE OR REPLACE VIEW {database}.reuse_hits {on_cluster} AS
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
    (SELECT request_id, tenant, domain, reuse_arm, reuse_example, reuse_similarity, reuse_quality FROM {database}.decisions FINAL WHERE reuse_state = 'on') AS decision
    INNER JOIN (SELECT request_id, tenant, created_at, saved_cost, total_ms FROM {database}.responses FINAL WHERE source = 'reuse' AND NOT duplicate) AS response
        ON response.request_id = decision.request_id AND response.tenant = decision.tenant
    LEFT JOIN (SELECT request_id, tenant, reward, weight FROM {database}.rewards FINAL) AS rewarded
        ON rewarded.request_id = decision.request_id AND rewarded.tenant = decision.tenant
{colocated};

-- As in 0016. A reused answer has no tokens of its own: four characters of question and answer are taken as one.
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
            if(source = 'reuse', toInt64(ceil(lengthUTF8(question) / 4)), toInt64(prompt_tokens) - shown) AS asked,
            if(source = 'reuse', toInt64(ceil(lengthUTF8(text) / 4)), toInt64(completion_tokens)) AS answered_tokens,
            greatest(asked + shown_instead, 0) + answered_tokens AS tokens,
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
