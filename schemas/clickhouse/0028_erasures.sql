-- What was erased, as hashes alone, so that what comes of it later is not recorded again (docs/privacy.md).
CREATE TABLE IF NOT EXISTS {table:erasures} {on_cluster}
(
    hash String COMMENT 'Of a request, a tenant or the place of a dead letter: algorithms/privacy/erasure.ts',
    erasure_id String,
    before Nullable(DateTime64(3, 'UTC')) COMMENT 'Of a tenant: what came before; NULL: whenever it comes',
    created_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String) COMMENT 'Empty: written by precedent forget itself, before the topic brought it',
    kafka_partition Int32 CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 CODEC(Delta, ZSTD(1)),
    kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot, topic id; empty: not known'
)
ENGINE = {replacing:kafka_offset}
ORDER BY (hash, erasure_id);

{distributed:erasures:cityHash64(hash)};
