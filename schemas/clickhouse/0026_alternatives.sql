-- Second answers, for comparison (docs/learning.md, Being asked). alternatives gets the columns that responses has got since it was made.

{columns:alternatives:
    ADD COLUMN IF NOT EXISTS passthrough String COMMENT 'As in responses' CODEC(ZSTD(3)) AFTER text,
    ADD COLUMN IF NOT EXISTS failed_arms Array(Tuple(arm LowCardinality(String), code LowCardinality(String), attempts UInt32)) COMMENT 'As in responses; no other arm takes over, so it is empty' AFTER model,
    ADD COLUMN IF NOT EXISTS saved_cost Float64 COMMENT 'As in responses; none is given from the cache, so it is 0' AFTER cost
};

{columns:decisions:
    ADD COLUMN IF NOT EXISTS ask_probability Nullable(Float64) COMMENT 'With which feedback was to be asked for: 1 where the arms were nearly even; NULL: not logged' AFTER asked,
    ADD COLUMN IF NOT EXISTS alternative Bool COMMENT 'second_arm answers, too (table alternatives)' AFTER second_probability
};

-- As in 0025, with what second answers cost. saved is less that cost: it may be below 0.
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
    answer.alternative_cost AS alternative_cost,
    if(answer.arm = answer.most_expensive_arm AND answer.source = 'generated', answer.cost, price.per_token * answer.tokens) AS most_expensive_cost,
    greatest(most_expensive_cost - answer.cost, 0) - answer.alternative_cost AS saved
FROM
    (
        SELECT
            outcome.request_id AS request_id, outcome.tenant AS tenant, domain, created_at, source, arm, cost, second.alternative_cost AS alternative_cost,
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
            LEFT JOIN (SELECT request_id, tenant, sum(cost) AS alternative_cost FROM {database}.alternatives FINAL GROUP BY request_id, tenant) AS second
                ON second.request_id = outcome.request_id AND second.tenant = outcome.tenant
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

-- Two answers to one question, side by side. What was said of them is feedback on that request against other_arm.
CREATE OR REPLACE VIEW {database}.answer_pairs {on_cluster} AS
SELECT
    second.request_id AS request_id,
    second.tenant AS tenant,
    second.created_at AS created_at,
    first.arm AS arm,
    first.text AS text,
    first.cost AS cost,
    second.arm AS other_arm,
    second.text AS other_text,
    second.cost AS other_cost
FROM
    (SELECT request_id, tenant, created_at, assumeNotNull(arm) AS arm, text, cost FROM {database}.alternatives FINAL WHERE status = 'ok' AND NOT duplicate AND arm IS NOT NULL) AS second
    INNER JOIN (SELECT request_id, tenant, arm, text, cost FROM {database}.responses FINAL WHERE status = 'ok' AND NOT duplicate AND empty(failed_arms)) AS first
        ON first.request_id = second.request_id AND first.tenant = second.tenant
{colocated};
