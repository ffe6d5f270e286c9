-- Which policy of linked prefill a response's prompt got, and what auto chose for each kind of chunk.

{columns:responses:
    ADD COLUMN IF NOT EXISTS link_policy LowCardinality(Nullable(String)) DEFAULT NULL COMMENT 'Policy of linked prefill, by kind of chunk where the prompt had both; NULL: the arm links nothing' AFTER model
};

{columns:alternative_answers:
    ADD COLUMN IF NOT EXISTS link_policy LowCardinality(Nullable(String)) DEFAULT NULL COMMENT 'Policy of linked prefill, by kind of chunk where the prompt had both; NULL: the arm links nothing' AFTER model
};

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
COMMENT 'Which policy of linked prefill auto used, from when to when, and the figures behind it';
