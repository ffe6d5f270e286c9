-- Sums over answers by hour, for the page: a month is read in a fraction of a second, however many
-- answers it has. Filled by each INSERT into responses; a forgotten request stays in the sums.

CREATE TABLE IF NOT EXISTS {table:answer_hours} {on_cluster}
(
    hour DateTime('UTC') COMMENT 'Hour in which the answers were finished, UTC' CODEC(Delta, ZSTD(1)),
    tenant LowCardinality(String) COMMENT 'Tenant that owns the requests',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo; empty: not known',
    account LowCardinality(String) COMMENT 'Id of the gateway key that asked; of the first one where it was rotated; empty: none',
    arm LowCardinality(String) COMMENT 'Arm that answered; empty: none did',
    source LowCardinality(String) COMMENT 'generated, cache, reuse, replayed, imported or none (no answer)',
    status LowCardinality(String) COMMENT 'ok, failed or refused',
    error_code LowCardinality(String) COMMENT 'Stable error code; empty: no error',
    answers SimpleAggregateFunction(sum, UInt64) COMMENT 'Final answers, failures and refusals included',
    cost SimpleAggregateFunction(sum, Float64) COMMENT 'Cost, in the currency of the configured prices',
    failed_cost SimpleAggregateFunction(sum, Float64) COMMENT 'The part of cost that failed calls were charged with',
    saved_cost SimpleAggregateFunction(sum, Float64) COMMENT 'Cost that the response cache and reused answers avoided',
    tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Tokens of prompts and completions',
    example_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Tokens of prompts that examples took, estimated',
    prompt_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Tokens of prompts',
    linked_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Prompt tokens whose KV cache was reused by linked prefill',
    recomputed_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Linked tokens that were recomputed to limit the error',
    prefilled_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Prompt tokens computed by ordinary prefill',
    cached_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Prompt tokens that the endpoint had cached',
    most_cost SimpleAggregateFunction(max, Float64) COMMENT 'Cost of the most expensive answer',
    most_ms SimpleAggregateFunction(max, Float64) COMMENT 'Time of the slowest answer, from arrival to the end, ms',
    total_ms AggregateFunction(quantilesBFloat16(0.5, 0.95, 0.99), Float32) COMMENT 'Quantiles of the time from arrival to the finished answer, ms, within 0.8 %; merge them',
    first_token_ms AggregateFunction(quantilesBFloat16If(0.5, 0.95, 0.99), Float32, UInt8) COMMENT 'Quantiles of the time from arrival to the first token, ms, where it was measured, within 0.8 %; merge them'
)
ENGINE = {aggregating}
PARTITION BY toYYYYMM(hour)
ORDER BY (hour, tenant, domain, account, arm, source, status, error_code)
{ttl:hour}
COMMENT 'Counts, costs, tokens and times of answers by hour';

{distributed:answer_hours:cityHash64(hour)};

CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.answer_hours_feed {on_cluster} TO {table:answer_hours}
(
    hour DateTime('UTC') COMMENT 'Hour in which the answers were finished, UTC',
    tenant LowCardinality(String) COMMENT 'Tenant that owns the requests',
    domain LowCardinality(String) COMMENT 'Sharing domain as tenant/domain, such as acme/geo; empty: not known',
    account LowCardinality(String) COMMENT 'Id of the gateway key that asked; of the first one where it was rotated; empty: none',
    arm LowCardinality(String) COMMENT 'Arm that answered; empty: none did',
    source LowCardinality(String) COMMENT 'generated, cache, reuse, replayed, imported or none (no answer)',
    status LowCardinality(String) COMMENT 'ok, failed or refused',
    error_code LowCardinality(String) COMMENT 'Stable error code; empty: no error',
    answers SimpleAggregateFunction(sum, UInt64) COMMENT 'Final answers, failures and refusals included',
    cost SimpleAggregateFunction(sum, Float64) COMMENT 'Cost, in the currency of the configured prices',
    failed_cost SimpleAggregateFunction(sum, Float64) COMMENT 'The part of cost that failed calls were charged with',
    saved_cost SimpleAggregateFunction(sum, Float64) COMMENT 'Cost that the response cache and reused answers avoided',
    tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Tokens of prompts and completions',
    example_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Tokens of prompts that examples took, estimated',
    prompt_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Tokens of prompts',
    linked_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Prompt tokens whose KV cache was reused by linked prefill',
    recomputed_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Linked tokens that were recomputed to limit the error',
    prefilled_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Prompt tokens computed by ordinary prefill',
    cached_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Prompt tokens that the endpoint had cached',
    most_cost SimpleAggregateFunction(max, Float64) COMMENT 'Cost of the most expensive answer',
    most_ms SimpleAggregateFunction(max, Float64) COMMENT 'Time of the slowest answer, from arrival to the end, ms',
    total_ms AggregateFunction(quantilesBFloat16(0.5, 0.95, 0.99), Float32) COMMENT 'Quantiles of the time from arrival to the finished answer, ms, within 0.8 %; merge them',
    first_token_ms AggregateFunction(quantilesBFloat16If(0.5, 0.95, 0.99), Float32, UInt8) COMMENT 'Quantiles of the time from arrival to the first token, ms, where it was measured, within 0.8 %; merge them'
)
AS
SELECT
    toStartOfHour(answer.created_at) AS hour, answer.tenant AS tenant, answer.domain AS domain, answer.account AS account,
    ifNull(answer.arm, '') AS arm, answer.source AS source, answer.status AS status, ifNull(answer.error_code, '') AS error_code,
    count() AS answers, sum(answer.cost) AS cost, sum(answer.failed_cost) AS failed_cost, sum(answer.saved_cost) AS saved_cost,
    sum(toUInt64(answer.prompt_tokens) + answer.completion_tokens) AS tokens, sum(answer.example_tokens) AS example_tokens,
    sum(answer.prompt_tokens) AS prompt_tokens, sum(answer.linked_tokens) AS linked_tokens, sum(answer.recomputed_tokens) AS recomputed_tokens,
    sum(answer.prefilled_tokens) AS prefilled_tokens, sum(answer.cached_tokens) AS cached_tokens,
    max(answer.cost) AS most_cost, max(answer.total_ms) AS most_ms,
    quantilesBFloat16State(0.5, 0.95, 0.99)(toFloat32(answer.total_ms)) AS total_ms,
    quantilesBFloat16IfState(0.5, 0.95, 0.99)(toFloat32(ifNull(answer.first_token_ms, 0)), answer.first_token_ms IS NOT NULL) AS first_token_ms
FROM {table:responses} AS answer
WHERE NOT answer.duplicate
GROUP BY hour, tenant, domain, account, arm, source, status, error_code
COMMENT 'Feeds answer_hours with each INSERT into responses';
