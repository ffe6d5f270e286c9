-- What selection leaves behind for learning helpfulness (docs/examples.md): the features that an example was judged by, and the trials.

{columns:example_uses:
    ADD COLUMN IF NOT EXISTS features Array(Float32) COMMENT 'Its row of the helpfulness features; empty: not made' CODEC(ZSTD(1)) AFTER arm_mean,
    ADD COLUMN IF NOT EXISTS proxy_version UInt64 COMMENT 'Model that predicted helpfulness; 0: similarity stood in' AFTER features
};

-- One row for every request on which an example was tried: drawn evenly from the candidates that could be shown to the chosen arm, then by chance
-- forced into its prompt or kept out of it. Routing sees what is shown, so an estimate for one arm weighs a row by 1 / arm_probability.
CREATE TABLE IF NOT EXISTS {table:example_trials} {on_cluster}
(
    example_id String CODEC(ZSTD(1)),
    request_id String CODEC(ZSTD(1)),
    tenant LowCardinality(String),
    domain LowCardinality(String) COMMENT 'Sharing domain, tenant/domain',
    arm LowCardinality(String) COMMENT 'The chosen one',
    model LowCardinality(String),
    shown Bool COMMENT 'Forced in; else kept out',
    probability Float64 COMMENT 'With which it was to be shown',
    similarity Float64 COMMENT 'Cosine',
    helpfulness Float64 COMMENT 'As predicted',
    examples UInt16 COMMENT 'In the prompt, this one included where shown',
    features Array(Float32) COMMENT 'Its row of the helpfulness features' CODEC(ZSTD(1)),
    proxy_version UInt64 COMMENT 'Model that predicted helpfulness; 0: similarity stood in',
    arm_cost Float64 COMMENT 'Normalised cost of the arm, [0, 1]',
    arm_mean Float64 COMMENT 'The quality that the router predicted of it',
    arm_probability Float64 COMMENT 'Exact probability of the arm, given what it was shown',
    created_at DateTime64(3, 'UTC') COMMENT 'Of the decision' CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String),
    kafka_partition Int32 CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 CODEC(Delta, ZSTD(1)),
    first_wins UInt64 MATERIALIZED 18446744073709551615 - kafka_offset CODEC(Delta, ZSTD(1)),
    INDEX created_at_range created_at TYPE minmax GRANULARITY 1
)
ENGINE = {replacing:first_wins}
PARTITION BY toYYYYMM(created_at)
ORDER BY (request_id, tenant)
{ttl:created_at};

{distributed:example_trials:cityHash64(request_id)};
