-- Sums over answers by day, for the page's longer periods: merging the quantiles of all hours of a
-- month takes twice as long. Filled by each INSERT into answer_hours.

CREATE TABLE IF NOT EXISTS {table:answer_days} {on_cluster}
(
    day DateTime('UTC') COMMENT 'Day in which the answers were finished, UTC' CODEC(Delta, ZSTD(1)),
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
    total_ms AggregateFunction(quantilesBFloat16(0.5, 0.95, 0.99), Float32) COMMENT 'Quantiles of the time from arrival to the finished answer, ms, within 0.8 %; merge them',
    first_token_ms AggregateFunction(quantilesBFloat16If(0.5, 0.95, 0.99), Float32, UInt8) COMMENT 'Quantiles of the time from arrival to the first token, ms, where it was measured, within 0.8 %; merge them'
)
ENGINE = {aggregating}
PARTITION BY toYYYYMM(day)
ORDER BY (day, tenant, domain, account, arm, source, status, error_code)
{ttl:day}
COMMENT 'Answers by day, tenant, domain, key, arm, source and outcome: counts, costs, tokens, times';

{distributed:answer_days:cityHash64(day)};

CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.answer_days_feed {on_cluster} TO {table:answer_days}
(
    day DateTime('UTC') COMMENT 'Day in which the answers were finished, UTC',
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
    total_ms AggregateFunction(quantilesBFloat16(0.5, 0.95, 0.99), Float32) COMMENT 'Quantiles of the time from arrival to the finished answer, ms, within 0.8 %; merge them',
    first_token_ms AggregateFunction(quantilesBFloat16If(0.5, 0.95, 0.99), Float32, UInt8) COMMENT 'Quantiles of the time from arrival to the first token, ms, where it was measured, within 0.8 %; merge them'
)
AS
SELECT
    toStartOfDay(one.hour) AS day, one.tenant AS tenant, one.domain AS domain, one.account AS account, one.arm AS arm,
    one.source AS source, one.status AS status, one.error_code AS error_code,
    sum(one.answers) AS answers, sum(one.cost) AS cost, sum(one.failed_cost) AS failed_cost, sum(one.saved_cost) AS saved_cost,
    sum(one.tokens) AS tokens, sum(one.example_tokens) AS example_tokens, sum(one.prompt_tokens) AS prompt_tokens,
    sum(one.linked_tokens) AS linked_tokens, sum(one.recomputed_tokens) AS recomputed_tokens,
    sum(one.prefilled_tokens) AS prefilled_tokens, sum(one.cached_tokens) AS cached_tokens,
    quantilesBFloat16MergeState(0.5, 0.95, 0.99)(one.total_ms) AS total_ms,
    quantilesBFloat16IfMergeState(0.5, 0.95, 0.99)(one.first_token_ms) AS first_token_ms
FROM {table:answer_hours} AS one
GROUP BY day, tenant, domain, account, arm, source, status, error_code
COMMENT 'Feeds answer_days with each INSERT into answer_hours';
