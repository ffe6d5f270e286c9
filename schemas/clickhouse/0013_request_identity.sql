-- Which of several records with the same request id a request is: the first by the broker's time (created_at). Offsets of two
-- partitions say nothing about that, and a producer may key its records as it likes. Below 2^63 whatever the offset, so that rows from before this file, which are older, still win.

{columns:requests:
    MODIFY COLUMN first_wins UInt64 MATERIALIZED 9223372036854775807 - toUInt64(toUnixTimestamp64Milli(created_at)) * 1048576 - kafka_offset % 1048576
};

-- Every record of requests, repeats too: where it stood, when it came, and whether it asked for the same. Texts stand in requests alone.
CREATE TABLE IF NOT EXISTS {table:request_arrivals} {on_cluster}
(
    request_id String COMMENT 'The client''s, or topic-partition-offset' CODEC(ZSTD(1)),
    tenant LowCardinality(String),
    request_hash String COMMENT 'Of what was asked: repeats with another one were refused' CODEC(ZSTD(1)),
    created_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String),
    kafka_partition Int32 CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 CODEC(Delta, ZSTD(1)),
    INDEX created_at_range created_at TYPE minmax GRANULARITY 1
)
ENGINE = {replacing:kafka_offset}
PARTITION BY toYYYYMM(created_at)
ORDER BY (request_id, tenant, topic, kafka_partition, kafka_offset)
{ttl:created_at};

{distributed:request_arrivals:cityHash64(request_id)};
