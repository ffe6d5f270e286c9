-- Views of linked prefill: what it reused, what it cost in accuracy, and what auto chose.

CREATE OR REPLACE VIEW {database}.linked_tokens {on_cluster}
(
    arm LowCardinality(Nullable(String)) COMMENT 'Arm that answered',
    hour DateTime('UTC') COMMENT 'Hour of the answers, UTC',
    responses UInt64 COMMENT 'Number of answers',
    prompt UInt64 COMMENT 'Prompt tokens',
    linked UInt64 COMMENT 'Prompt tokens whose KV cache was reused by linked prefill',
    recomputed UInt64 COMMENT 'Linked tokens that were recomputed to limit the error',
    prefilled UInt64 COMMENT 'Prompt tokens computed by ordinary prefill',
    mean_first_token_ms Nullable(Float64) COMMENT 'Mean of first_token_ms, ms; NULL: not measured'
)
AS (
SELECT
    arm,
    toStartOfHour(created_at) AS hour,
    count() AS responses,
    sum(prompt_tokens) AS prompt,
    sum(linked_tokens) AS linked,
    sum(recomputed_tokens) AS recomputed,
    sum(prefilled_tokens) AS prefilled,
    avg(first_token_ms) AS mean_first_token_ms
FROM {database}.responses FINAL
WHERE status = 'ok' AND NOT duplicate AND source = 'generated'
GROUP BY arm, hour
ORDER BY arm, hour
{colocated}
)
COMMENT 'Prompt tokens by what linked prefill did with them';

CREATE OR REPLACE VIEW {database}.cached_examples {on_cluster}
(
    arm LowCardinality(String) COMMENT 'Chosen arm',
    hour DateTime('UTC') COMMENT 'Hour of the decisions, UTC',
    shown UInt64 COMMENT 'Examples shown',
    preferred UInt64 COMMENT 'Examples with a bonus for their KV cache',
    share Float64 COMMENT 'preferred / shown, 0 to 1',
    mean_helpfulness Float64 COMMENT 'Mean predicted helpfulness, 0 to 1'
)
AS (
SELECT
    arm,
    toStartOfHour(created_at) AS hour,
    count() AS shown,
    countIf(cached_bonus > 0) AS preferred,
    countIf(cached_bonus > 0) / count() AS share,
    avg(helpfulness) AS mean_helpfulness
FROM {database}.example_uses FINAL
GROUP BY arm, hour
ORDER BY arm, hour
)
COMMENT 'Shown examples preferred because the arm had their KV cache';

CREATE OR REPLACE VIEW {database}.prefill_curve {on_cluster}
(
    arm LowCardinality(String) COMMENT 'Arm',
    model LowCardinality(String) COMMENT 'SHA-256 of the model file; empty: not known',
    convention LowCardinality(String) COMMENT 'What chunks are prefilled behind when they are cached',
    policy LowCardinality(String) COMMENT 'Policy of linked prefill',
    samples UInt64 COMMENT 'Number of samples',
    mean_share Float64 COMMENT 'Mean share of linked tokens that were recomputed, 0 to 1',
    mean_kl Float64 COMMENT 'Mean KL divergence from the full prefill, nats',
    kl_error Nullable(Float64) COMMENT 'Half width of its 95 % interval, nats; NULL: one sample',
    agreement Float64 COMMENT 'Mean share of equal greedy tokens, 0 to 1',
    last_sample DateTime64(3, 'UTC') COMMENT 'Newest sample, UTC'
)
AS (
SELECT
    arm,
    model,
    convention,
    policy,
    count() AS samples,
    avg(recomputed_share) AS mean_share,
    avg(kl) AS mean_kl,
    if(samples > 1, 1.96 * stddevSamp(kl) / sqrt(samples), NULL) AS kl_error,
    avg(agreement) AS agreement,
    max(created_at) AS last_sample
FROM {database}.prefill_samples FINAL
GROUP BY arm, model, convention, policy
ORDER BY arm, model, convention, mean_share
{colocated}
)
COMMENT 'Error against recomputed share by link policy';

-- Processes of an arm write the same choice more than once; one row stands for all of them.
CREATE OR REPLACE VIEW {database}.link_choices {on_cluster}
(
    arm LowCardinality(String) COMMENT 'Arm',
    model String COMMENT 'SHA-256 of the model file',
    convention String COMMENT 'What chunks are prefilled behind when they are cached',
    chunks LowCardinality(String) COMMENT 'Kind of chunk that it applies to: short (examples) or long (128 tokens or more)',
    policy String COMMENT 'Policy of linked prefill that was used',
    since DateTime64(3, 'UTC') COMMENT 'First use, UTC',
    until Nullable(DateTime64(3, 'UTC')) COMMENT 'When the next choice replaced it, UTC; NULL: still in use',
    samples Float64 COMMENT 'Samples behind the choice',
    mean_kl Nullable(Float64) COMMENT 'Mean KL divergence, nats; NULL: no policy was good enough yet',
    upper_kl Nullable(Float64) COMMENT 'Upper bound of it, nats; NULL: no policy was good enough yet',
    mean_share Nullable(Float64) COMMENT 'Mean share of linked tokens that were recomputed, 0 to 1; NULL: as above',
    bound Float64 COMMENT 'Highest upper_kl allowed, nats'
)
AS (
SELECT
    arm,
    model,
    convention,
    chunks,
    policy,
    since,
    if(next = toDateTime64(0, 3, 'UTC'), NULL, next) AS until,
    samples,
    mean_kl,
    upper_kl,
    mean_share,
    bound
FROM
    (
        SELECT *, leadInFrame(since) OVER (PARTITION BY arm, chunks ORDER BY version ASC ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS next
        FROM
            (
                SELECT
                    substring(name, 6) AS arm,
                    version,
                    JSONExtractString(body, 'chunks') AS chunks,
                    JSONExtractString(body, 'policy') AS policy,
                    JSONExtractString(body, 'model') AS model,
                    JSONExtractString(body, 'convention') AS convention,
                    JSONExtractFloat(body, 'bound') AS bound,
                    created_at AS since,
                    metrics['samples'] AS samples,
                    if(mapContains(metrics, 'kl'), metrics['kl'], NULL) AS mean_kl,
                    if(mapContains(metrics, 'upperKl'), metrics['upperKl'], NULL) AS upper_kl,
                    if(mapContains(metrics, 'share'), metrics['share'], NULL) AS mean_share,
                    (policy, model, convention) AS what,
                    lagInFrame((policy, model, convention)) OVER (PARTITION BY name, chunks ORDER BY version ASC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS before
                FROM {database}.policies FINAL
                WHERE startsWith(name, 'link/')
            )
        WHERE what != before
    )
ORDER BY arm, chunks, since
{colocated}
)
COMMENT 'Which link policy auto used when, and the figures behind it';
