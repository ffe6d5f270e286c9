-- Requests that were answered from the response cache (docs/design/response-cache.md): no arm was chosen for them, and what their answers had cost is saved.

{columns:decisions:
    ADD COLUMN IF NOT EXISTS source LowCardinality(String) DEFAULT 'routed' COMMENT 'cache: a kept answer, or that of the same request under way, was given; arm is the one that had answered' AFTER breakers,
    ADD COLUMN IF NOT EXISTS cache_key String COMMENT 'Hash under which the answer is kept in its domain, or was found; empty: it may not be kept' CODEC(ZSTD(1)) AFTER source
};

{columns:responses:
    ADD COLUMN IF NOT EXISTS saved_cost Float64 COMMENT 'What the answer had cost when it was made, of one given again from the cache' AFTER cost
};

-- One row for every request that was answered from the response cache, with what it saved.
CREATE OR REPLACE VIEW {database}.cache_hits {on_cluster} AS
SELECT
    decision.request_id AS request_id,
    decision.tenant AS tenant,
    decision.domain AS domain,
    decision.cache_key AS cache_key,
    response.created_at AS created_at,
    response.arm AS arm,
    response.model AS model,
    response.saved_cost AS saved_cost,
    response.total_ms AS total_ms
FROM
    (SELECT request_id, tenant, domain, cache_key FROM {database}.decisions FINAL WHERE source = 'cache') AS decision
    INNER JOIN (SELECT request_id, tenant, created_at, arm, model, saved_cost, total_ms FROM {database}.responses FINAL WHERE source = 'cache' AND NOT duplicate) AS response
        ON response.request_id = decision.request_id AND response.tenant = decision.tenant
{colocated};
