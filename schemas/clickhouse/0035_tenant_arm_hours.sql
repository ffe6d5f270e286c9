-- As arm_hours (0003, 0019), for every tenant alone: what `routing.statistics: tenant` learns from (docs/learning.md). Computed from
-- the base tables like arm_hours, and filled only while that is set.

CREATE TABLE IF NOT EXISTS {table:tenant_arm_hours} {on_cluster}
(
    tenant LowCardinality(String),
    arm LowCardinality(String),
    model LowCardinality(String),
    hour DateTime('UTC') COMMENT 'Of the decisions' CODEC(Delta, ZSTD(1)),
    feature_version UInt32,
    a Array(Float64) COMMENT 'Sum of w x xT, lower triangle by rows' CODEC(ZSTD(1)),
    b Array(Float64) COMMENT 'Sum of w r x' CODEC(ZSTD(1)),
    weight Float64 COMMENT 'Sum of w',
    reward_sum Float64 COMMENT 'Sum of w r',
    reward_squares Float64 COMMENT 'Sum of w r r',
    rewards UInt64 COMMENT 'Rewarded decisions',
    newest_at DateTime64(3, 'UTC') COMMENT 'Newest feedback in it' CODEC(Delta, ZSTD(1)),
    version UInt64 CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:version}
ORDER BY (feature_version, tenant, arm, model, hour)
{ttl:hour};

{distributed:tenant_arm_hours:cityHash64(tenant)};
