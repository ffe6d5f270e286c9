-- What the policy `auto` of linked prefill goes by (docs/linked-prefill.md): samples by the model and the convention that they are of, and its choices.
{columns:prefill_samples:
    ADD COLUMN IF NOT EXISTS model LowCardinality(String) DEFAULT '' COMMENT 'SHA-256 of the model file; empty: not known' AFTER arm,
    ADD COLUMN IF NOT EXISTS convention LowCardinality(String) DEFAULT '' COMMENT 'What chunks are prefilled behind when they are cached' AFTER policy
};

CREATE OR REPLACE VIEW {database}.prefill_curve {on_cluster} AS
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
{colocated};

-- What auto used from when to when, and the figures it chose by (NULL: none were good enough yet, and it stayed with the dear one). Processes of an
-- arm write the same choice more than once; a row stands for all of them, and in until for what came next (NULL: still).
CREATE OR REPLACE VIEW {database}.link_choices {on_cluster} AS
SELECT
    arm,
    model,
    convention,
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
        SELECT *, leadInFrame(since) OVER (PARTITION BY arm ORDER BY version ASC ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS next
        FROM
            (
                SELECT
                    substring(name, 6) AS arm,
                    version,
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
                    lagInFrame((policy, model, convention)) OVER (PARTITION BY name ORDER BY version ASC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS before
                FROM {database}.policies FINAL
                WHERE startsWith(name, 'link/')
            )
        WHERE what != before
    )
ORDER BY arm, since
{colocated};
