-- Linked prefill (docs/linked-prefill.md): what each policy of an arm costs and loses, as measured on a running sample beside full prefills.
CREATE OR REPLACE VIEW {database}.prefill_curve {on_cluster} AS
SELECT
    arm,
    policy,
    count() AS samples,
    avg(recomputed_share) AS mean_share,
    avg(kl) AS mean_kl,
    if(samples > 1, 1.96 * stddevSamp(kl) / sqrt(samples), NULL) AS kl_error,
    avg(agreement) AS agreement,
    max(created_at) AS last_sample
FROM {database}.prefill_samples FINAL
GROUP BY arm, policy
ORDER BY arm, mean_share
{colocated};

-- What linking saved: tokens of prompts by what was done with them, a row an arm and hour.
CREATE OR REPLACE VIEW {database}.linked_tokens {on_cluster} AS
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
{colocated};
