-- What the answers to a key of the gateway cost, for budgets a day and a month (docs/gateway.md). Names no request and no tenant: erasing them gives nothing back.
-- A month is read at most; a year is kept for people.
CREATE TABLE IF NOT EXISTS {table:account_costs} {on_cluster}
(
    account String COMMENT 'Id of the key, of the first one where it was rotated' CODEC(ZSTD(1)),
    day Date COMMENT 'Of created_at, in UTC',
    hash String COMMENT 'Of tenant and request id' CODEC(ZSTD(1)),
    cost Float64 COMMENT 'In the currency of the prices; answers that cost nothing have no row',
    created_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    topic LowCardinality(String),
    kafka_partition Int32 CODEC(Delta, ZSTD(1)),
    kafka_offset UInt64 CODEC(Delta, ZSTD(1)),
    kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot, topic id; empty: not known'
)
ENGINE = {replacing:kafka_offset}
PARTITION BY toYYYYMM(day)
ORDER BY (account, day, hash)
TTL day + toIntervalDay(400);

{distributed:account_costs:cityHash64(account)};
